// From messages to plain data. The schema's own names (NodeProto ...) stay in this file and in tensor.cpp.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/onnx/attribute_type_internal.h"
#include "isobit/onnx/frame_internal.h"
#include "isobit/onnx/model.h"
#include "isobit/onnx/schema.pb.h"
#include "isobit/onnx/tensor_internal.h"
#include "isobit/onnx/wire_internal.h"

namespace isobit::onnx {
namespace {

using namespace attribute_type;

// Parses what check_wire has accepted.
template <class Message>
Status parse(ByteView data, const std::string& file, int max_depth, Message& message) {
  if (data.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return unreadable(text_of(file, ": ", human_bytes(data.size()), " are more than an ONNX file may have (2 GB)"));
  }
  google::protobuf::io::ArrayInputStream array(data.data(), static_cast<int>(data.size()));
  google::protobuf::io::CodedInputStream coded(&array);
  coded.SetRecursionLimit(max_depth);
  if (!message.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    return unreadable(text_of(file, ": is no ONNX file, or is damaged"));
  }
  return {};
}

TypeDef type_of(const schema::TypeProto& proto) {
  using Kind = TypeDef::Kind;
  TypeDef type;
  const auto tensor = [&](Kind kind, int64_t element, bool has_shape, const schema::TensorShapeProto& shape) {
    type.kind = kind;
    type.element = element;
    type.has_shape = has_shape;
    for (const auto& dim : shape.dim()) {
      const bool known = dim.value_case() == schema::TensorShapeProto_Dimension::kDimValue;
      type.dims.push_back({known ? dim.dim_value() : -1, known ? std::string() : dim.dim_param()});
    }
  };
  switch (proto.value_case()) {
    case schema::TypeProto::kTensorType:
      tensor(Kind::kTensor, proto.tensor_type().elem_type(), proto.tensor_type().has_shape(),
             proto.tensor_type().shape());
      break;
    case schema::TypeProto::kSparseTensorType:
      tensor(Kind::kSparse, proto.sparse_tensor_type().elem_type(), proto.sparse_tensor_type().has_shape(),
             proto.sparse_tensor_type().shape());
      break;
    case schema::TypeProto::kSequenceType:
      type.kind = Kind::kSequence;
      break;
    case schema::TypeProto::kMapType:
      type.kind = Kind::kMap;
      break;
    case schema::TypeProto::kOptionalType:
      type.kind = Kind::kOptional;
      break;
    case schema::TypeProto::VALUE_NOT_SET:
      break;
  }
  return type;
}

// Messages are taken apart as they are read: what has been taken has given its memory back.
class Decoder {
 public:
  Decoder(const std::string& file, ExternalFiles files, uint64_t max_tensor_bytes)
      : file_(file), files_(std::move(files)), budget_{max_tensor_bytes} {}

  Expected<Model> model(schema::ModelProto& proto) {
    if (!proto.has_graph()) return unreadable(text_of(file_, ": holds no graph; is it an ONNX model?"));
    Model model;
    model.file = file_;
    model.ir_version = proto.ir_version();
    model.producer = proto.producer_name();
    model.producer_version = proto.producer_version();
    ISOBIT_TRY(model.opsets, opsets(proto.opset_import(), file_));
    for (const auto& entry : proto.metadata_props()) model.metadata.emplace_back(entry.key(), entry.value());
    ISOBIT_TRY(model.graph, graph(*proto.mutable_graph()));
    for (auto& function : *proto.mutable_functions()) {
      ISOBIT_TRY(FunctionDef def, this->function(function));
      model.functions.push_back(std::move(def));
    }
    model.external.assign(files_.locations().begin(), files_.locations().end());
    return model;
  }

  Expected<TensorDef> tensor(schema::TensorProto& proto, const std::string& what) {
    return tensor_of(proto, text_of(file_, ": ", what), files_, budget_);
  }

  uint64_t bytes_left() const { return budget_.bytes_left; }  // for more tensors

 private:
  // Every node looks its domain up in this list.
  template <class Opsets>
  static Expected<std::vector<OpsetDef>> opsets(const Opsets& protos, const std::string& where) {
    constexpr int kMost = 256;
    if (protos.size() > kMost) {
      return unreadable(text_of(where, ": imports ", protos.size(), " sets of operators, expected at most ", kMost));
    }
    std::vector<OpsetDef> defs;
    for (const auto& opset : protos) {
      const std::string domain = own_domain(opset.domain());
      const auto before = std::ranges::find(defs, domain, &OpsetDef::domain);
      if (before == defs.end()) {
        defs.push_back({domain, opset.version()});
      } else if (before->version != opset.version()) {
        return unreadable(text_of(where, ": imports domain '", tidy_name(domain), "' as version ", before->version,
                                  " and as version ", opset.version()));
      }
    }
    return defs;
  }

  Expected<GraphDef> graph(schema::GraphProto& proto) {
    GraphDef def;
    def.name = proto.name();
    for (auto& initializer : *proto.mutable_initializer()) {
      ISOBIT_TRY(TensorDef t, tensor(initializer, text_of("initializer '", tidy_name(initializer.name()), "'")));
      def.initializers.push_back(std::move(t));
    }
    for (const auto& sparse : proto.sparse_initializer()) def.sparse_initializers.push_back(sparse.values().name());
    for (const auto& input : proto.input()) def.inputs.push_back({input.name(), type_of(input.type())});
    for (const auto& output : proto.output()) def.outputs.push_back({output.name(), type_of(output.type())});
    ISOBIT_TRY(def.nodes, nodes(*proto.mutable_node()));
    return def;
  }

  template <class Nodes>
  Expected<std::vector<NodeDef>> nodes(Nodes& protos) {
    std::vector<NodeDef> defs;
    for (auto& proto : protos) {
      NodeDef def{proto.name(),
                  proto.op_type(),
                  own_domain(proto.domain()),
                  proto.overload(),
                  {proto.input().begin(), proto.input().end()},
                  {proto.output().begin(), proto.output().end()},
                  {}};
      ISOBIT_TRY(def.attributes,
                 attributes(*proto.mutable_attribute(), text_of("node '", tidy_name(def.label()), "'")));
      defs.push_back(std::move(def));
    }
    return defs;
  }

  // ONNX's own operators have two names for their domain.
  static std::string own_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

  template <class Attributes>
  Expected<std::vector<AttributeDef>> attributes(Attributes& protos, const std::string& where) {
    std::vector<AttributeDef> defs;
    for (auto& proto : protos) {
      const std::string what = text_of(where, ": attribute '", tidy_name(proto.name()), "'");
      ISOBIT_TRY(AttributeValue value, this->value(proto, what));
      defs.push_back({proto.name(), proto.ref_attr_name(), std::move(value)});
    }
    return defs;
  }

  Expected<AttributeValue> value(schema::AttributeProto& a, const std::string& what) {
    switch (a.type()) {
      case kFloat:
        return a.f();
      case kInt:
        return a.i();
      case kString:
        return a.s();
      case kFloats:
        return std::vector<float>(a.floats().begin(), a.floats().end());
      case kInts:
        return std::vector<int64_t>(a.ints().begin(), a.ints().end());
      case kStrings:
        return std::vector<std::string>(a.strings().begin(), a.strings().end());
      case kTensor: {
        ISOBIT_TRY(TensorDef t, tensor(*a.mutable_t(), what));
        return t;
      }
      case kGraph: {
        ISOBIT_TRY(GraphDef g, graph(*a.mutable_g()));
        return std::make_shared<const GraphDef>(std::move(g));
      }
      case kTensors:
        return OtherAttribute{"a list of tensors"};
      case kGraphs:
        return OtherAttribute{"a list of graphs"};
      case kSparseTensor:
      case kSparseTensors:
        return OtherAttribute{"a sparse tensor"};
      case kType:
      case kTypes:
        return OtherAttribute{"a type"};
      default:
        break;
    }
    // A reference to a caller's attribute may come without a type.
    if (!a.ref_attr_name().empty()) return OtherAttribute{"a reference"};
    return unreadable(text_of(file_, ": ", what, ": its type is ", a.type(), ", which is none of ONNX"));
  }

  Expected<FunctionDef> function(schema::FunctionProto& proto) {
    FunctionDef def{proto.name(),
                    own_domain(proto.domain()),
                    proto.overload(),
                    {proto.input().begin(), proto.input().end()},
                    {proto.output().begin(), proto.output().end()},
                    {proto.attribute().begin(), proto.attribute().end()},
                    {},
                    {},
                    {}};
    ISOBIT_TRY(def.opsets, opsets(proto.opset_import(), text_of(file_, ": function '", tidy_name(def.name), "'")));
    ISOBIT_TRY(def.defaults,
               attributes(*proto.mutable_attribute_proto(), text_of("function '", tidy_name(def.name), "'")));
    ISOBIT_TRY(def.nodes, nodes(*proto.mutable_node()));
    return def;
  }

  const std::string& file_;
  ExternalFiles files_;
  TensorBudget budget_;
};

Expected<Model> decode(Bytes& data, ByteView view, const std::string& file, ExternalFiles files,
                       const LoadOptions& options) {
  if (view.size() > options.max_file_bytes) {
    return unreadable(text_of(file, ": ", human_bytes(view.size()), " are over the limit of ",
                              human_bytes(options.max_file_bytes), " (--max-memory)"));
  }
  if (view.empty()) return unreadable(text_of(file, ": is empty"));
  ISOBIT_TRY(const WireSize size,
             check_wire(view, *model_message(), {options.max_depth, options.max_message_bytes}, file));
  // The messages and what they become are there at the same time.
  const uint64_t beside = 2 * (size.bytes - size.raw_data);
  const uint64_t for_tensors = options.max_tensor_bytes - std::min(beside, options.max_tensor_bytes);
  schema::ModelProto proto;
  ISOBIT_RETURN_IF_ERROR(parse(view, file, options.max_depth, proto));
  Bytes().swap(data);  // the messages have a copy
  Decoder decoder(file, std::move(files), for_tensors);
  ISOBIT_TRY(Model model, decoder.model(proto));
  model.bytes = size.bytes - size.raw_data + (for_tensors - decoder.bytes_left());
  return model;
}

}  // namespace

std::optional<int64_t> version_of(const std::vector<OpsetDef>& opsets, std::string_view domain) {
  const auto found = std::ranges::find(opsets, domain, &OpsetDef::domain);
  return found == opsets.end() ? std::nullopt : std::optional<int64_t>(found->version);
}

LoadOptions load_options_within(uint64_t max_memory) {
  LoadOptions options;
  // The bytes of the file and the messages that they become are there at the same time.
  options.max_file_bytes = std::min(options.max_file_bytes, max_memory / 2);
  options.max_message_bytes = std::min(options.max_message_bytes, max_memory / 2);
  options.max_tensor_bytes = std::min(options.max_tensor_bytes, max_memory);
  return options;
}

Expected<Model> load_model(const fs::path& path, const LoadOptions& options) {
  ISOBIT_TRY(Bytes data, read_file(path, options.max_file_bytes));
  const ByteView view = data;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return decode(data, view, path.string(), ExternalFiles(folder), options);
}

Expected<Model> decode_model(ByteView data, const std::string& file, const LoadOptions& options) {
  Bytes nothing;
  return decode(nothing, data, file, ExternalFiles(), options);
}

Expected<TensorDef> decode_tensor(ByteView data, const std::string& file, const LoadOptions& options) {
  const WireLimits limits{options.max_depth, options.max_message_bytes};
  ISOBIT_TRY([[maybe_unused]] const WireSize size, check_wire(data, *tensor_message(), limits, file));
  schema::TensorProto proto;
  ISOBIT_RETURN_IF_ERROR(parse(data, file, options.max_depth, proto));
  return Decoder(file, ExternalFiles(), options.max_tensor_bytes).tensor(proto, "tensor");
}

Expected<TensorDef> load_tensor(const fs::path& path, const LoadOptions& options) {
  ISOBIT_TRY(const Bytes data, read_file(path, options.max_file_bytes));
  return decode_tensor(data, path.string(), options);
}

}  // namespace isobit::onnx
