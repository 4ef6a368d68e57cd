#include "fuzz/onnx_mutator.h"

#include <google/protobuf/descriptor.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <sstream>

#include "isobit/graph/op.h"

namespace isobit::fuzz {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Numbers that shapes, axes and counts go wrong with.
constexpr int64_t kNumbers[] = {0,
                                1,
                                2,
                                3,
                                4,
                                5,
                                7,
                                8,
                                16,
                                64,
                                255,
                                256,
                                1 << 16,
                                -1,
                                -2,
                                -3,
                                -256,
                                INT32_MAX,
                                INT32_MIN,
                                INT64_MAX,
                                INT64_MIN,
                                1LL << 31,
                                1LL << 32,
                                1LL << 62,
                                -(1LL << 62),
                                INT64_MAX - 1,
                                INT64_MIN + 1,
                                1000000007};
constexpr double kReals[] = {0, -0.0, 1, -1, 0.5, 2, 1e-45, -1e-38, 1e38, -1e38, 1e300, 1e-300};

// Attributes by ONNX's names, and operators that only an importer knows.
constexpr const char* kAttributes =
    "axis axes to keepdims pads kernel_shape perm alpha beta strides dilations group auto_pad ceil_mode mode value "
    "shape "
    "starts ends steps split num_outputs k largest sorted exclusive reverse equation direction hidden_size batch_dims "
    "reduction allowzero antialias upper transA transB block_size blocksize output_shape then_branch else_branch body "
    "num_scan_inputs scan_input_axes scan_output_axes coordinate_transformation_mode center_point_box sampling_ratio "
    "output_height output_width spatial_scale epsilon nodes_modes nodes_featureids nodes_truenodeids tree_roots "
    "n_targets";
constexpr const char* kOperators =
    "Loop If Scan Constant ConstantOfShape Shape Size Dropout SequenceConstruct SequenceInsert SequenceAt "
    "SplitToSequence ConcatFromSequence LSTM GRU RNN Einsum DFT STFT HannWindow MelWeightMatrix TreeEnsemble "
    "TreeEnsembleRegressor TreeEnsembleClassifier LabelEncoder Attention SoftmaxCrossEntropyLoss "
    "NegativeLogLikelihoodLoss CenterCropPad DeformConv ConvTranspose Upsample";
constexpr const char* kTexts =
    "SAME_UPPER VALID cubic linear nearest reflect edge wrap ij,jk->ik ...i->i... bidirectional reverse add SUM LEAF "
    "tf_crop_and_resize BRANCH_LEQ \x1b[2J ../x /etc/passwd";

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

void each_message(Message& message, const std::function<void(Message&)>& visit) {
  visit(message);
  const Reflection& r = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r.ListFields(message, &fields);
  for (const FieldDescriptor* f : fields) {
    if (f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!f->is_repeated()) {
      each_message(*r.MutableMessage(&message, f), visit);
      continue;
    }
    for (int i = 0; i < r.FieldSize(message, f); ++i) each_message(*r.MutableRepeatedMessage(&message, f, i), visit);
  }
}

bool is_a(const Message& message, const std::string& type) { return message.GetDescriptor()->name() == type; }

const FieldDescriptor& field_of(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  ISOBIT_CHECK(field != nullptr);
  return *field;
}

}  // namespace

int64_t OnnxMutator::number() { return one_in(3) ? static_cast<int64_t>(below(12)) - 3 : some(kNumbers); }

double OnnxMutator::real() {
  switch (below(16)) {
    case 0:
      return std::numeric_limits<double>::infinity();
    case 1:
      return -std::numeric_limits<double>::infinity();
    case 2:
      return std::nan("");
    default:
      return some(kReals);
  }
}

// A name that something of the model has.
std::string OnnxMutator::some_name(const Message& model) {
  std::vector<std::string> names = {""};
  const auto copy = std::unique_ptr<Message>(model.New());
  copy->CopyFrom(model);
  each_message(*copy, [&](Message& m) {
    const Reflection& r = *m.GetReflection();
    if (is_a(m, "ValueInfoProto") || is_a(m, "TensorProto")) names.push_back(r.GetString(m, &field_of(m, "name")));
    if (!is_a(m, "NodeProto")) return;
    const FieldDescriptor& output = field_of(m, "output");
    for (int i = 0; i < r.FieldSize(m, &output); ++i) names.push_back(r.GetRepeatedString(m, &output, i));
  });
  return some(names);
}

std::string OnnxMutator::attribute_name() {
  static const std::vector<std::string> kNames = words(kAttributes);
  return some(kNames);
}

std::string OnnxMutator::text(const Field& field, const Message& model) {
  static const std::vector<std::string> kOwn = graph::op_names(), kMore = words(kOperators), kKnown = words(kTexts);
  const std::string& owner = field.containing_type()->name();
  if (field.name() == "op_type") return one_in(2) ? some(kMore) : graph::short_name(some(kOwn));
  if (owner == "AttributeProto" && field.name() == "name") return attribute_name();
  if (field.name() == "domain") return one_in(2) ? "" : one_in(2) ? "ai.onnx.ml" : "own";
  if (field.name() == "location" || field.name() == "key") return some(words("location offset length"));
  const bool names_value = field.name() == "name" || field.name() == "input" || field.name() == "output";
  return names_value ? some_name(model) : some(kKnown);
}

Message* OnnxMutator::some_message(Message& model, const std::string& type) {
  std::vector<Message*> found;
  each_message(model, [&](Message& m) {
    if (type.empty() || is_a(m, type)) found.push_back(&m);
  });
  return found.empty() ? nullptr : some(found);
}

void OnnxMutator::mutate(Message& model, const Message& other) {
  switch (below(10)) {
    case 0:
      return other_operator(model);
    case 1:
    case 2:
      return other_edge(model);
    case 3:
      return other_attribute(model);
    case 4:
    case 5:
      return fitting_tensor(model);
    case 6:
      return open_types(model);
    default:
      change(*some_message(model, ""), model, other);
  }
}

void OnnxMutator::change(Message& message, Message& model, const Message& other) {
  const Descriptor& type = *message.GetDescriptor();
  if (type.field_count() == 0) return;
  const Field& field = *type.field(static_cast<int>(below(static_cast<size_t>(type.field_count()))));
  field.is_repeated() ? change_list(message, field, model, other) : change_one(message, field, model, other);
}

void OnnxMutator::change_list(Message& message, const Field& field, Message& model, const Message& other) {
  const Reflection& r = *message.GetReflection();
  const int size = r.FieldSize(message, &field);
  const int at = static_cast<int>(below(static_cast<size_t>(size)));
  switch (size == 0 ? 0 : below(4)) {
    case 0:
      return add_item(message, field, model, other);
    case 1:
      r.SwapElements(&message, &field, at, size - 1);
      return r.RemoveLast(&message, &field);
    case 2:
      return r.SwapElements(&message, &field, at, static_cast<int>(below(static_cast<size_t>(size))));
    default:
      return set_item(message, field, at, model);
  }
}

void OnnxMutator::change_one(Message& message, const Field& field, Message& model, const Message& other) {
  const Reflection& r = *message.GetReflection();
  if (one_in(5)) return r.ClearField(&message, &field);
  if (field.cpp_type() != Field::CPPTYPE_MESSAGE) return set_scalar(message, field, model);
  // A piece of the same kind from elsewhere. It may lie around this one.
  const auto from = std::unique_ptr<Message>(other.New());
  from->CopyFrom(other);
  const Message* piece = some_message(*from, field.message_type()->name());
  if (piece != nullptr) r.MutableMessage(&message, &field)->CopyFrom(*piece);
}

void OnnxMutator::set_scalar(Message& message, const Field& field, const Message& model) {
  const Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.SetInt32(&message, &field, static_cast<int32_t>(one_in(2) ? static_cast<int64_t>(below(18)) : number()));
    case Field::CPPTYPE_INT64:
      return r.SetInt64(&message, &field, number());
    case Field::CPPTYPE_UINT64:
      return r.SetUInt64(&message, &field, static_cast<uint64_t>(number()));
    case Field::CPPTYPE_FLOAT:
      return r.SetFloat(&message, &field, static_cast<float>(real()));
    case Field::CPPTYPE_DOUBLE:
      return r.SetDouble(&message, &field, real());
    case Field::CPPTYPE_STRING:
      return r.SetString(&message, &field, text(field, model));
    default:
      return;
  }
}

void OnnxMutator::set_item(Message& message, const Field& field, int at, const Message& model) {
  const Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.SetRepeatedInt32(&message, &field, at, static_cast<int32_t>(number()));
    case Field::CPPTYPE_INT64:
      return r.SetRepeatedInt64(&message, &field, at, number());
    case Field::CPPTYPE_UINT64:
      return r.SetRepeatedUInt64(&message, &field, at, static_cast<uint64_t>(number()));
    case Field::CPPTYPE_FLOAT:
      return r.SetRepeatedFloat(&message, &field, at, static_cast<float>(real()));
    case Field::CPPTYPE_DOUBLE:
      return r.SetRepeatedDouble(&message, &field, at, real());
    case Field::CPPTYPE_STRING:
      return r.SetRepeatedString(&message, &field, at, text(field, model));
    default:
      return;
  }
}

void OnnxMutator::add_item(Message& message, const Field& field, Message& model, const Message& other) {
  const Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.AddInt32(&message, &field, static_cast<int32_t>(number()));
    case Field::CPPTYPE_INT64:
      return r.AddInt64(&message, &field, number());
    case Field::CPPTYPE_UINT64:
      return r.AddUInt64(&message, &field, static_cast<uint64_t>(number()));
    case Field::CPPTYPE_FLOAT:
      return r.AddFloat(&message, &field, static_cast<float>(real()));
    case Field::CPPTYPE_DOUBLE:
      return r.AddDouble(&message, &field, real());
    case Field::CPPTYPE_STRING:
      return r.AddString(&message, &field, text(field, model));
    case Field::CPPTYPE_MESSAGE: {
      const auto from = std::unique_ptr<Message>(other.New());
      from->CopyFrom(other);
      const Message* piece = some_message(*from, field.message_type()->name());
      Message* added = r.AddMessage(&message, &field);
      if (piece != nullptr) added->CopyFrom(*piece);
      return;
    }
    default:
      return;
  }
}

void OnnxMutator::other_operator(Message& model) {
  Message* node = some_message(model, "NodeProto");
  if (node == nullptr) return;
  const Reflection& r = *node->GetReflection();
  const FieldDescriptor& op = field_of(*node, "op_type");
  r.SetString(node, &op, text(op, model));
  if (one_in(2)) r.ClearField(node, &field_of(*node, "attribute"));
}

// An operand that is another value, one more, or one less.
void OnnxMutator::other_edge(Message& model) {
  Message* node = some_message(model, "NodeProto");
  if (node == nullptr) return;
  const Reflection& r = *node->GetReflection();
  const FieldDescriptor& list = field_of(*node, one_in(5) ? "output" : "input");
  const int size = r.FieldSize(*node, &list);
  if (size == 0 || one_in(4)) return r.AddString(node, &list, some_name(model));
  if (one_in(4)) return r.RemoveLast(node, &list);
  r.SetRepeatedString(node, &list, static_cast<int>(below(static_cast<size_t>(size))), some_name(model));
}

// One whose type says what it holds.
void OnnxMutator::other_attribute(Message& model) {
  Message* node = some_message(model, "NodeProto");
  if (node == nullptr) return;
  const Reflection& r = *node->GetReflection();
  const FieldDescriptor& list = field_of(*node, "attribute");
  const int size = r.FieldSize(*node, &list);
  const bool is_new = size == 0 || one_in(2);
  Message& a = is_new ? *r.AddMessage(node, &list)
                      : *r.MutableRepeatedMessage(node, &list, static_cast<int>(below(static_cast<size_t>(size))));
  const Reflection& ar = *a.GetReflection();
  if (is_new) ar.SetString(&a, &field_of(a, "name"), attribute_name());
  struct Kind {
    const char* field;
    int32_t type;
  };
  static constexpr Kind kKinds[] = {{"f", 1}, {"i", 2}, {"s", 3}, {"floats", 6}, {"ints", 7}, {"ints", 7}};
  const Kind kind = some(kKinds);
  const FieldDescriptor& field = field_of(a, kind.field);
  ar.SetInt32(&a, &field_of(a, "type"), kind.type);
  if (!field.is_repeated()) return set_scalar(a, field, model);
  const int items = ar.FieldSize(a, &field);
  if (items > 0 && !one_in(3)) return set_item(a, field, static_cast<int>(below(static_cast<size_t>(items))), model);
  add_item(a, field, model, model);
}

// Data that fit the shape, so that what comes behind the decoder is reached.
void OnnxMutator::fitting_tensor(Message& model) {
  Message* t = some_message(model, "TensorProto");
  if (t == nullptr) return;
  const Reflection& r = *t->GetReflection();
  const std::string name = r.GetString(*t, &field_of(*t, "name"));
  t->Clear();
  r.SetString(t, &field_of(*t, "name"), name);
  const bool whole = one_in(2);
  r.SetInt32(t, &field_of(*t, "data_type"), whole ? 7 : 1);
  size_t elements = 1;
  for (size_t axes = below(4); axes > 0; --axes) {
    const size_t extent = below(5);
    elements *= extent;
    r.AddInt64(t, &field_of(*t, "dims"), static_cast<int64_t>(extent));
  }
  const FieldDescriptor& data = field_of(*t, whole ? "int64_data" : "float_data");
  for (size_t i = 0; i < elements; ++i) add_item(*t, data, model, model);
}

// What a file says of its outputs need not be so: without it more is reached.
void OnnxMutator::open_types(Message& model) {
  Message* graph = some_message(model, "GraphProto");
  if (graph == nullptr) return;
  const Reflection& r = *graph->GetReflection();
  const FieldDescriptor& list = field_of(*graph, "output");
  for (int i = 0; i < r.FieldSize(*graph, &list); ++i) {
    Message* value = r.MutableRepeatedMessage(graph, &list, i);
    value->GetReflection()->ClearField(value, &field_of(*value, "type"));
  }
  // The last values that are made, as outputs.
  if (Message* node = some_message(model, "NodeProto")) {
    const FieldDescriptor& outputs = field_of(*node, "output");
    const Reflection& nr = *node->GetReflection();
    if (nr.FieldSize(*node, &outputs) == 0 || !one_in(2)) return;
    Message* value = r.AddMessage(graph, &list);
    value->GetReflection()->SetString(value, &field_of(*value, "name"), nr.GetRepeatedString(*node, &outputs, 0));
  }
}

}  // namespace isobit::fuzz
