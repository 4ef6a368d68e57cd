// The model, and the whole training step, as a graph of operators in ONNX terms.
//
// Single assignment: every value has one producer, and nodes stand in an order in which each follows its inputs (so
// node order is both the execution order and the schema of an operator trace). Operators that ONNX does not have
// carry the prefix "isobit.". A dimension of -1 is not known before the run, and where not even the rank is known,
// kUnknownRank stands in place of dimensions. Attributes may hold tensors and graphs that the operator runs (If, Loop,
// Scan), which imported models bring.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::graph {

class Graph;

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an absent optional input or output

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, Tensor,
                               std::shared_ptr<const Graph>>;

// Sorted by name, so that two graphs with the same content encode to the same bytes.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  bool has(const std::string& name) const { return items_.contains(name); }
  void set(const std::string& name, Attribute value) { items_[name] = std::move(value); }
  // The attribute, or the fallback when it is absent. REQUIRES that a present one has the asked type (checked by shape
  // inference before anything else reads it).
  int64_t integer(const std::string& name, int64_t fallback) const;
  double real(const std::string& name, double fallback) const;
  std::string text(const std::string& name, const std::string& fallback) const;
  std::vector<int64_t> integers(const std::string& name, std::vector<int64_t> fallback) const;
  std::vector<double> reals(const std::string& name, std::vector<double> fallback) const;
  const std::map<std::string, Attribute>& items() const { return items_; }

 private:
  std::map<std::string, Attribute> items_;
};

// In place of dimensions: nothing is known of them before the run, not even how many there are.
inline const std::vector<int64_t> kUnknownRank = {INT64_MIN};

struct Value {
  std::string name;  // unique in its graph
  DType dtype = DType::kFloat32;
  std::vector<int64_t> dims;

  bool has_rank() const { return dims != kUnknownRank; }
  bool is_static() const;
  Shape shape() const;  // REQUIRES is_static()
};

struct Node {
  std::string op;
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  // Inputs that shape inference asked for the constant of (InferContext::constant) and that are none: the node can only
  // be run once they are known. Follows from the rest.
  std::vector<int> awaits = {};
};

struct Initializer {
  ValueId value;
  Tensor tensor;
};

class Graph {
 public:
  // Graphs in attributes lie within one another no deeper than this.
  static constexpr int kMostNested = 8;

  // Names that are taken already get a suffix ("conv", "conv.1", ...).
  ValueId add_input(const std::string& name, DType dtype, std::vector<int64_t> dims);
  ValueId add_initializer(const std::string& name, Tensor tensor);

  // Appends a node and infers the types of its outputs. `outputs` names them; "" means an absent optional output.
  // Errors (kUnreadable): unknown operator, wrong number or type of inputs, attributes or shapes that do not fit,
  // graphs in attributes that are nested too deeply. Each names the node.
  Expected<std::vector<ValueId>> add_node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                          std::vector<std::string> outputs, const std::string& node_name = "");

  // The same for graphs we build ourselves: a failure is our bug and aborts with the message.
  std::vector<ValueId> emit_all(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                std::vector<std::string> outputs);
  ValueId emit(const std::string& op, std::vector<ValueId> inputs, Attributes attributes, const std::string& output);

  // REQUIRES index < nodes().size().
  void name_node(size_t index, std::string name) { nodes_[index].name = std::move(name); }

  void add_output(ValueId value) { outputs_.push_back(value); }
  // The outputs so far; from here on there are none, for who goes on with a graph that somebody else had ended.
  std::vector<ValueId> take_outputs() { return std::exchange(outputs_, {}); }

  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  int64_t value_count() const { return static_cast<int64_t>(values_.size()); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<Initializer>& initializers() const { return initializers_; }
  const Tensor* initializer(ValueId id) const;  // null when the value is not a constant
  ValueId find(const std::string& name) const;  // kNoValue when there is none
  int nested() const { return nested_; }        // how deep graphs in attributes lie within this one; 0: there are none

 private:
  ValueId add_value(const std::string& name, DType dtype, std::vector<int64_t> dims);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<Initializer> initializers_;
  std::map<std::string, ValueId> by_name_;
  std::map<std::string, int> suffixes_;  // the last one of a name that was taken
  int nested_ = 0;
};

}  // namespace isobit::graph
