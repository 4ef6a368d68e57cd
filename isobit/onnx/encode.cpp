#include "isobit/onnx/encode.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "isobit/base/durable_file.h"
#include "isobit/base/text.h"
#include "isobit/onnx/attribute_type_internal.h"
#include "isobit/onnx/schema.pb.h"

namespace isobit::onnx {
namespace {

constexpr int kExternal = 1;  // TensorProto.data_location
constexpr std::array<uint8_t, kDataAlignment> kPadding = {};

Status put_type(const TypeDef& type, const std::string& what, schema::TypeProto& proto) {
  if (type.kind == TypeDef::Kind::kNone) return {};
  if (type.kind != TypeDef::Kind::kTensor) {
    return unreadable(text_of(what, ": of type '", type.text(), "', which is not written"));
  }
  schema::TypeProto_Tensor& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(type.element));
  if (!type.has_shape) return {};
  schema::TensorShapeProto& shape = *tensor.mutable_shape();
  for (const DimDef& dim : type.dims) {
    auto& d = *shape.add_dim();
    if (dim.extent >= 0) {
      d.set_dim_value(dim.extent);
    } else if (!dim.name.empty()) {
      d.set_dim_param(dim.name);
    }
  }
  return {};
}

// A number as Protocol Buffers write it.
void put_varint(uint64_t value, Bytes& to) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
  to.push_back(static_cast<uint8_t>(value));
}

// What stands before a field of bytes or of a message.
Bytes field_head(uint32_t number, uint64_t bytes) {
  constexpr uint32_t kLengthDelimited = 2;
  Bytes head;
  put_varint(number << 3 | kLengthDelimited, head);
  put_varint(bytes, head);
  return head;
}

template <class Message>
Bytes bytes_of(const Message& message) {
  Bytes bytes(message.ByteSizeLong());
  ISOBIT_CHECK(message.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())));
  return bytes;
}

class Encoder {
 public:
  // Tensors of the main graph go to the second file where `external` is its name.
  explicit Encoder(const std::string& external) : external_(external) {}

  // The model without its graph, the graph without its initializers, and these; fields of a message may come in any
  // order.
  Expected<Encoded> encode(const Model& model) {
    schema::ModelProto rest;
    ISOBIT_RETURN_IF_ERROR(head(model, rest));
    schema::GraphProto graph;
    ISOBIT_RETURN_IF_ERROR(body(model.graph, graph));
    const uint64_t most = static_cast<uint64_t>(std::numeric_limits<int>::max());
    if (graph.ByteSizeLong() > most) return unavailable("the nodes alone are more than an ONNX file may have (2 GB)");
    for (const TensorDef& t : model.graph.initializers) ISOBIT_RETURN_IF_ERROR(initializer(t));
    const Bytes in_graph = bytes_of(graph);
    Encoded all;
    const auto own = [&](Bytes bytes) {
      all.own.push_back(std::make_unique<const Bytes>(std::move(bytes)));
      all.file.push_back(*all.own.back());
    };
    own(bytes_of(rest));
    own(field_head(schema::ModelProto::kGraphFieldNumber, in_graph.size() + initializer_bytes_));
    own(in_graph);
    for (const Piece& piece : pieces_) {
      own(piece.head);
      if (!piece.data.empty()) all.file.push_back(piece.data);
    }
    for (const ByteView piece : all.file) all.file_bytes += piece.size();
    all.data = std::move(data_);
    all.data_bytes = offset_;
    if (all.file_bytes <= most) return all;
    return unavailable(
        text_of(human_bytes(all.file_bytes), " are more than an ONNX file may have (2 GB), and ",
                external_.empty() ? "no second file is asked for" : "too many of its tensors are small"));
  }

 private:
  // An initializer: all but its elements, and these, if they are in the file.
  struct Piece {
    Bytes head;
    ByteView data;
  };

  static Status head(const Model& model, schema::ModelProto& proto) {
    if (!model.functions.empty()) return unreadable("the model has functions, which are not written");
    proto.set_ir_version(model.ir_version);
    if (!model.producer.empty()) proto.set_producer_name(model.producer);
    if (!model.producer_version.empty()) proto.set_producer_version(model.producer_version);
    for (const OpsetDef& o : model.opsets) {
      auto& opset = *proto.add_opset_import();
      opset.set_domain(o.domain);
      opset.set_version(o.version);
    }
    for (const auto& [key, value] : model.metadata) {
      auto& entry = *proto.add_metadata_props();
      entry.set_key(key);
      entry.set_value(value);
    }
    return {};
  }

  Status graph(const GraphDef& def, schema::GraphProto& proto) {
    for (const TensorDef& t : def.initializers) {
      schema::TensorProto& tensor = *proto.add_initializer();
      ISOBIT_RETURN_IF_ERROR(describe(t, what_of(t), tensor));
      set_data(t.tensor.byte_view(), tensor);
    }
    return body(def, proto);
  }

  // Everything but the initializers.
  Status body(const GraphDef& def, schema::GraphProto& proto) {
    proto.set_name(def.name);
    if (!def.sparse_initializers.empty()) {
      return unreadable(text_of("initializer '", def.sparse_initializers[0], "' is sparse, which is not written"));
    }
    for (const ValueDef& v : def.inputs) ISOBIT_RETURN_IF_ERROR(value(v, *proto.add_input()));
    for (const ValueDef& v : def.outputs) ISOBIT_RETURN_IF_ERROR(value(v, *proto.add_output()));
    for (const NodeDef& n : def.nodes) ISOBIT_RETURN_IF_ERROR(node(n, *proto.add_node()));
    return {};
  }

  static Status value(const ValueDef& def, schema::ValueInfoProto& proto) {
    proto.set_name(def.name);
    if (def.type.kind == TypeDef::Kind::kNone) return {};
    return put_type(def.type, text_of("value '", def.name, "'"), *proto.mutable_type());
  }

  Status node(const NodeDef& def, schema::NodeProto& proto) {
    for (const std::string& i : def.inputs) proto.add_input(i);
    for (const std::string& o : def.outputs) proto.add_output(o);
    if (!def.name.empty()) proto.set_name(def.name);
    proto.set_op_type(def.op);
    if (!def.domain.empty()) proto.set_domain(def.domain);
    if (!def.overload.empty()) proto.set_overload(def.overload);
    for (const AttributeDef& a : def.attributes) {
      const std::string what = text_of("node '", def.name, "' (", def.op, "): attribute '", a.name, "'");
      if (!a.refers_to.empty()) return unreadable(text_of(what, " refers to a caller's, which is not written"));
      ISOBIT_RETURN_IF_ERROR(attribute(a, what, *proto.add_attribute()));
    }
    return {};
  }

  Status attribute(const AttributeDef& def, const std::string& what, schema::AttributeProto& proto) {
    using namespace attribute_type;
    proto.set_name(def.name);
    if (const auto* i = std::get_if<int64_t>(&def.value)) {
      proto.set_type(kInt);
      proto.set_i(*i);
    } else if (const auto* f = std::get_if<float>(&def.value)) {
      proto.set_type(kFloat);
      proto.set_f(*f);
    } else if (const auto* s = std::get_if<std::string>(&def.value)) {
      proto.set_type(kString);
      proto.set_s(*s);
    } else if (const auto* is = std::get_if<std::vector<int64_t>>(&def.value)) {
      proto.set_type(kInts);
      for (const int64_t each : *is) proto.add_ints(each);
    } else if (const auto* fs = std::get_if<std::vector<float>>(&def.value)) {
      proto.set_type(kFloats);
      for (const float each : *fs) proto.add_floats(each);
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&def.value)) {
      proto.set_type(kStrings);
      for (const std::string& each : *texts) proto.add_strings(each);
    } else if (const auto* t = std::get_if<TensorDef>(&def.value)) {
      proto.set_type(kTensor);
      ISOBIT_RETURN_IF_ERROR(describe(*t, what, *proto.mutable_t()));
      set_data(t->tensor.byte_view(), *proto.mutable_t());
    } else if (const auto* g = std::get_if<std::shared_ptr<const GraphDef>>(&def.value)) {
      proto.set_type(kGraph);
      return graph(**g, *proto.mutable_g());
    } else {
      return unreadable(text_of(what, " is ", std::get<OtherAttribute>(def.value).what, ", which is not written"));
    }
    return {};
  }

  static std::string what_of(const TensorDef& def) { return text_of("initializer '", def.name, "'"); }

  static Status describe(const TensorDef& def, const std::string& what, schema::TensorProto& proto) {
    if (!def.tensor.defined()) {
      return unreadable(text_of(what, " is ", element_name(def.element), ", which is not written"));
    }
    for (const int64_t d : def.dims) proto.add_dims(d);
    proto.set_data_type(static_cast<int32_t>(def.element));
    if (!def.name.empty()) proto.set_name(def.name);
    return {};
  }

  static void set_data(ByteView bytes, schema::TensorProto& proto) { proto.set_raw_data(bytes.data(), bytes.size()); }

  // Of the main graph.
  Status initializer(const TensorDef& def) {
    schema::TensorProto proto;
    ISOBIT_RETURN_IF_ERROR(describe(def, what_of(def), proto));
    const ByteView bytes = def.tensor.byte_view();
    const bool is_outside = !external_.empty() && bytes.size() >= kSmallTensor;
    if (is_outside) place_outside(bytes, proto);
    Bytes message = bytes_of(proto);
    if (!is_outside) {
      const Bytes data_head = field_head(schema::TensorProto::kRawDataFieldNumber, bytes.size());
      message.insert(message.end(), data_head.begin(), data_head.end());
    }
    const uint64_t whole = message.size() + (is_outside ? 0 : bytes.size());
    Piece piece{field_head(schema::GraphProto::kInitializerFieldNumber, whole), is_outside ? ByteView() : bytes};
    initializer_bytes_ += piece.head.size() + whole;
    piece.head.insert(piece.head.end(), message.begin(), message.end());
    pieces_.push_back(std::move(piece));
    return {};
  }

  void place_outside(ByteView bytes, schema::TensorProto& proto) {
    if (const uint64_t rest = offset_ % kDataAlignment; rest != 0) {
      data_.push_back(ByteView(kPadding).first(static_cast<size_t>(kDataAlignment - rest)));
      offset_ += kDataAlignment - rest;
    }
    const auto entry = [&](const char* key, const std::string& value) {
      auto& e = *proto.add_external_data();
      e.set_key(key);
      e.set_value(value);
    };
    entry("location", external_);
    entry("offset", text_of(offset_));
    entry("length", text_of(bytes.size()));
    proto.set_data_location(kExternal);
    data_.push_back(bytes);
    offset_ += bytes.size();
  }

  const std::string external_;
  std::vector<Piece> pieces_;
  uint64_t initializer_bytes_ = 0;
  uint64_t offset_ = 0;  // of the second file's end
  std::vector<ByteView> data_;
};

}  // namespace

Expected<Encoded> encode_model(const Model& model, const EncodeOptions& options) {
  uint64_t tensors = 0;
  for (const TensorDef& t : model.graph.initializers) tensors += t.tensor.defined() ? t.tensor.bytes() : 0;
  const bool is_large = tensors > options.most_tensor_bytes;
  return Encoder(is_large ? options.data_file : "").encode(model);
}

Bytes Encoded::whole_file() const {
  Bytes whole;
  whole.reserve(file_bytes);
  for (const ByteView piece : file) whole.insert(whole.end(), piece.begin(), piece.end());
  return whole;
}

namespace {

constexpr size_t kRandomDigits = 16;  // of random_name()
constexpr std::string_view kDataEnding = ".data";

Status write_pieces(const fs::path& path, const std::vector<ByteView>& pieces, const WriteOptions& options) {
  ISOBIT_TRY(DurableFile file, DurableFile::create(path, options));
  for (const ByteView piece : pieces) ISOBIT_RETURN_IF_ERROR(file.append(piece));
  return file.commit();
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The names "NAME.<16 hex digits>.data" in what stands at `path`, whatever that is: a model has the name of its second
// file letter by letter. Nothing, where it cannot be read.
std::set<std::string> data_files_of(const fs::path& path) {
  const std::string front = path.filename().string() + ".";
  const size_t length = front.size() + kRandomDigits + kDataEnding.size();
  std::set<std::string> names;
  const auto file = PlainFile::open(path, Links::kRefuse);
  Bytes block(size_t{1} << 20);
  for (uint64_t at = 0; file && at < file->size(); at += block.size() - length) {  // so that none is cut in two
    const auto got = file->read_at(at, block);
    if (!got) break;
    const std::string_view text(reinterpret_cast<const char*>(block.data()), *got);
    for (size_t i = text.find(front); i != std::string_view::npos; i = text.find(front, i + 1)) {
      const std::string_view name = text.substr(i, length);
      const bool is_one = name.ends_with(kDataEnding) && is_hex(name.substr(front.size()).substr(0, kRandomDigits));
      if (name.size() == length && is_one) names.emplace(name);
    }
  }
  return names;
}

void remove_files(const fs::path& folder, const std::set<std::string>& names) {
  std::error_code ignored;
  for (const std::string& name : names) {
    if (fs::is_regular_file(fs::symlink_status(folder / name, ignored))) fs::remove(folder / name, ignored);
  }
}

}  // namespace

Expected<WrittenModel> write_model(const fs::path& path, const Model& model, const WriteOptions& options,
                                   EncodeOptions encode) {
  ISOBIT_RETURN_IF_ERROR(check_writable_name(path, options.replace));
  ISOBIT_TRY(const std::string random, random_name());
  encode.data_file = text_of(path.filename().string(), ".", random, kDataEnding);
  ISOBIT_TRY(const Encoded encoded, encode_model(model, encode));
  const std::set<std::string> old = options.replace ? data_files_of(path) : std::set<std::string>();
  if (encoded.data.empty()) encode.data_file.clear();
  const std::set<std::string> own = {encode.data_file};
  if (!encoded.data.empty()) {
    WriteOptions of_data{.replace = false, .mode = options.mode};
    std::error_code none;
    const fs::file_status replaced = fs::symlink_status(path, none);
    // Who may not read the model that was there is not to read the tensors of the one that will be.
    if (fs::is_regular_file(replaced)) of_data.mode = static_cast<mode_t>(replaced.permissions() & fs::perms::all);
    ISOBIT_RETURN_IF_ERROR(write_pieces(path.parent_path() / encode.data_file, encoded.data, of_data));
  }
  if (Status done = write_pieces(path, encoded.file, options); !done) {
    if (!encoded.data.empty()) remove_files(path.parent_path(), own);
    return tl::unexpected<Error>(std::move(done).error());
  }
  remove_files(path.parent_path(), old);
  return WrittenModel{encoded.file_bytes + encoded.data_bytes, encode.data_file};
}

}  // namespace isobit::onnx
