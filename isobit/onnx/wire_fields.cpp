// The fields of schema.proto, for who looks through the bytes.
#include "isobit/onnx/wire_internal.h"

namespace isobit::onnx {
namespace {

using enum WireKind;

// Names of things, which have a limit, and what may be of any length.
constexpr WireField text(uint32_t number, const char* name) { return {number, name, kName}; }
constexpr WireField texts(uint32_t number, const char* name) { return {number, name, kName, true}; }
constexpr WireField data(uint32_t number, const char* name) { return {number, name, kBytes}; }
constexpr WireField all_data(uint32_t number, const char* name) { return {number, name, kBytes, true}; }
constexpr WireField whole(uint32_t number, const char* name) { return {number, name, kVarint}; }
constexpr WireField list(uint32_t number, const char* name, WireKind kind = kVarint) {
  return {number, name, kind, true};
}
constexpr WireField one(uint32_t number, const char* name, const WireMessage* (*message)()) {
  return {number, name, kMessage, false, message};
}
constexpr WireField many(uint32_t number, const char* name, const WireMessage* (*message)()) {
  return {number, name, kMessage, true, message};
}

const WireMessage* graph_message();
const WireMessage* type_message();
const WireMessage* sparse_message();

const WireMessage* entry_message() {
  static constexpr WireField kFields[] = {text(1, "key"), data(2, "value")};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* opset_message() {
  static constexpr WireField kFields[] = {text(1, "domain"), whole(2, "version")};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* sparse_message() {
  static constexpr WireField kFields[] = {one(1, "values", tensor_message), one(2, "indices", tensor_message),
                                          list(3, "dims")};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* dimension_message() {
  static constexpr WireField kFields[] = {whole(1, "dim_value"), text(2, "dim_param")};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* shape_message() {
  static constexpr WireField kFields[] = {many(1, "dim", dimension_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* tensor_type_message() {
  static constexpr WireField kFields[] = {whole(1, "elem_type"), one(2, "shape", shape_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

// Sequence and Optional.
const WireMessage* nested_type_message() {
  static constexpr WireField kFields[] = {one(1, "elem_type", type_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* map_type_message() {
  static constexpr WireField kFields[] = {whole(1, "key_type"), one(2, "value_type", type_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* type_message() {
  static constexpr WireField kFields[] = {
      one(1, "tensor_type", tensor_type_message), one(4, "sequence_type", nested_type_message),
      one(5, "map_type", map_type_message), one(8, "sparse_tensor_type", tensor_type_message),
      one(9, "optional_type", nested_type_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* value_message() {
  static constexpr WireField kFields[] = {text(1, "name"), one(2, "type", type_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* attribute_message() {
  static constexpr WireField kFields[] = {text(1, "name"),
                                          {2, "f", kFixed32},
                                          whole(3, "i"),
                                          data(4, "s"),
                                          one(5, "t", tensor_message),
                                          one(6, "g", graph_message),
                                          list(7, "floats", kFixed32),
                                          list(8, "ints"),
                                          all_data(9, "strings"),
                                          many(10, "tensors", tensor_message),
                                          many(11, "graphs", graph_message),
                                          one(14, "tp", type_message),
                                          many(15, "type_protos", type_message),
                                          whole(20, "type"),
                                          text(21, "ref_attr_name"),
                                          one(22, "sparse_tensor", sparse_message),
                                          many(23, "sparse_tensors", sparse_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* node_message() {
  static constexpr WireField kFields[] = {texts(1, "input"),
                                          texts(2, "output"),
                                          text(3, "name"),
                                          text(4, "op_type"),
                                          many(5, "attribute", attribute_message),
                                          text(7, "domain"),
                                          text(8, "overload")};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* graph_message() {
  static constexpr WireField kFields[] = {
      many(1, "node", node_message),          text(2, "name"),
      many(5, "initializer", tensor_message), many(11, "input", value_message),
      many(12, "output", value_message),      many(15, "sparse_initializer", sparse_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* function_message() {
  static constexpr WireField kFields[] = {text(1, "name"),
                                          texts(4, "input"),
                                          texts(5, "output"),
                                          texts(6, "attribute"),
                                          many(7, "node", node_message),
                                          many(9, "opset_import", opset_message),
                                          text(10, "domain"),
                                          many(11, "attribute_proto", attribute_message),
                                          text(13, "overload")};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

}  // namespace

const WireMessage* tensor_message() {
  static constexpr WireField kFields[] = {list(1, "dims"),
                                          whole(2, "data_type"),
                                          list(4, "float_data", kFixed32),
                                          list(5, "int32_data"),
                                          all_data(6, "string_data"),
                                          list(7, "int64_data"),
                                          text(8, "name"),
                                          data(9, "raw_data"),
                                          list(10, "double_data", kFixed64),
                                          list(11, "uint64_data"),
                                          many(13, "external_data", entry_message),
                                          whole(14, "data_location")};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

const WireMessage* model_message() {
  static constexpr WireField kFields[] = {whole(1, "ir_version"),
                                          text(2, "producer_name"),
                                          text(3, "producer_version"),
                                          one(7, "graph", graph_message),
                                          many(8, "opset_import", opset_message),
                                          many(14, "metadata_props", entry_message),
                                          many(25, "functions", function_message)};
  static constexpr WireMessage kForm = {kFields};
  return &kForm;
}

}  // namespace isobit::onnx
