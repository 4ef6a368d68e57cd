// An ONNX file as it was written: plain data, nothing checked but that it could be read. What it means as a graph of
// isobit's operators: import.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::onnx {

// Elements by ONNX's number (TensorProto.data_type). Null where isobit has no such type: strings, complex numbers,
// floats of 8 bits and fewer, integers of 4 and 2.
std::optional<DType> dtype_of_element(int64_t element);
// ONNX's number of a type.
int64_t element_of_dtype(DType dtype);
// "float32", "string", "type 99"
std::string element_name(int64_t element);

// A constant of the file. `tensor` is undefined where isobit has no such type, and nothing of the data is kept then.
struct TensorDef {
  std::string name;
  int64_t element = 0;
  std::vector<int64_t> dims;
  Tensor tensor;
  bool dropped = false;  // its data (drop_weights)
};

struct DimDef {
  int64_t extent = -1;  // -1: not said
  std::string name;     // "batch"; nobody checks that extents of one name are equal
};

struct TypeDef {
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kOptional, kMap, kSparse };
  Kind kind = Kind::kNone;
  int64_t element = 0;     // of a tensor, dense or sparse
  bool has_shape = false;  // false: not even the rank is said
  std::vector<DimDef> dims;
  std::string text() const;  // "float32 [batch, 3, ?]", "sequence"
};

struct ValueDef {
  std::string name;
  TypeDef type;
};

struct GraphDef;

// What a file may give as an attribute and isobit never takes: sparse tensors, types, lists of tensors or graphs.
struct OtherAttribute {
  std::string what;
};

using AttributeValue =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 TensorDef, std::shared_ptr<const GraphDef>, OtherAttribute>;

struct AttributeDef {
  std::string name;
  std::string refers_to;  // in a function: the caller's attribute of this name, in place of `value`
  AttributeValue value;
};

struct NodeDef {
  std::string name, op, domain, overload;    // domain "": ONNX's own
  std::vector<std::string> inputs, outputs;  // "": an absent one
  std::vector<AttributeDef> attributes;
  // What messages call it: its name, or where it has none its first output, or its operator.
  const std::string& label() const { return !name.empty() ? name : outputs.empty() ? op : outputs[0]; }
};

struct GraphDef {
  std::string name;
  std::vector<NodeDef> nodes;
  std::vector<TensorDef> initializers;
  std::vector<std::string> sparse_initializers;  // their names
  std::vector<ValueDef> inputs, outputs;
};

struct OpsetDef {
  std::string domain;  // "": ONNX's own, which a file may also call "ai.onnx"; each once
  int64_t version = 0;
};
std::optional<int64_t> version_of(const std::vector<OpsetDef>& opsets, std::string_view domain);

struct FunctionDef {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;  // without a value of their own
  std::vector<AttributeDef> defaults;   // attributes with the value that an absent one has
  std::vector<NodeDef> nodes;
  std::vector<OpsetDef> opsets;
};

struct Model {
  std::string file;  // as messages name it
  int64_t ir_version = 0;
  std::string producer, producer_version;
  std::vector<std::pair<std::string, std::string>> metadata;  // names and values that mean nothing here
  std::vector<OpsetDef> opsets;
  GraphDef graph;
  std::vector<FunctionDef> functions;
  std::vector<std::string> external;  // files that tensors were read from, relative to the model's folder; sorted
  uint64_t bytes = 0;                 // that all of it takes in memory, rather more than less

  // The version of a domain's operators; nothing when the model does not import it.
  std::optional<int64_t> opset(std::string_view domain) const { return version_of(opsets, domain); }
};

struct LoadOptions {
  // Of the file, which Protocol Buffers bound too.
  uint64_t max_file_bytes = (uint64_t{2} << 30) - 1;
  // What the file may take in memory before its tensors are taken out of it: some hostile bytes become a hundred times
  // as many.
  uint64_t max_message_bytes = uint64_t{6} << 30;
  // Of all tensors together, those in other files included, and of the rest of the file beside them.
  uint64_t max_tensor_bytes = uint64_t{16} << 30;
  // How deep messages lie in one another; a graph within a graph is three deeper.
  int max_depth = 100;
};

// Moves the weights of graphs within nodes (If, Loop, Scan) to the main graph, where nothing else of the file has their
// name: they mean the same there, and a training changes them. Those of functions' bodies stay.
void lift_weights(Model& model);

// Takes the data of every float initializer of the main graph out that has more than `bytes` bytes, all of them finite:
// type and shape stay. Such a model can be imported with ImportOptions::opens_parameters, and takes little memory.
void drop_weights(Model& model, uint64_t bytes);

// Whether an initializer is one that training may change: floating-point, neither a scalar nor empty, all of it finite
// (or its data were dropped, which says the same).
bool is_weight(const TensorDef& tensor);

// Those limits where they are less than what keeps reading within `max_memory` bytes in all.
LoadOptions load_options_within(uint64_t max_memory);

// Reads a model and the tensors that it keeps in other files of its folder (or of folders below). kUnreadable with the
// file and the field for whatever is no model, is cut short, is over a limit, has data of another length than its shape
// asks for, or names a file outside of the folder; kUnavailable where the disk fails. Bounded in memory by the options.
Expected<Model> load_model(const fs::path& path, const LoadOptions& options = {});

// The same of bytes, without a folder: a tensor that lies in another file is an error. `file` is how messages name it.
Expected<Model> decode_model(ByteView data, const std::string& file, const LoadOptions& options = {});

// One tensor in a file of its own (TensorProto), as the conformance cases keep inputs and outputs.
Expected<TensorDef> decode_tensor(ByteView data, const std::string& file, const LoadOptions& options = {});
Expected<TensorDef> load_tensor(const fs::path& path, const LoadOptions& options = {});

}  // namespace isobit::onnx
