// The values of a graph that is being made, and what a name of the file means where it stands. Internal.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/onnx/model.h"

namespace isobit::onnx {

class Frame;

// A name of the file as the graph has it: nothing in it that cannot be seen, and no endless one.
std::string tidy_name(const std::string& name);

bool is_real(DType type);
// Whether the data are there, floating-point and one of them is a NaN.
bool has_nan(const TensorDef& tensor);

// A value: in its frame's graph, or a constant that comes into the graph when a node needs it.
struct Entry {
  Frame* frame = nullptr;
  std::string name;
  graph::ValueId id = graph::kNoValue;
  Tensor constant;         // defined: its value in the file is known
  bool from_file = false;  // an initializer of the file
  // An initializer that becomes an input of the graph when a node needs it. `constant` has its type and shape, and its
  // data unless they were dropped.
  bool opened = false;
  bool is_sequence = false;
  std::vector<std::shared_ptr<Entry>> items = {};  // of a sequence, in frames of their own
  std::string problem;                             // not empty: what is wrong with it, an error for whoever uses it
  std::shared_ptr<Entry> widened;        // of float16 and bfloat16: the same as float32, once somebody has asked
  std::weak_ptr<Entry> copy_of;          // of an inner graph's input the outer value, of a widened half the half
  graph::ValueId fed = graph::kNoValue;  // of an opened one that is used: the input of the graph

  bool is_constant() const { return constant.defined() && !opened; }
  // A float initializer of the file: training may change it, so nothing is computed from it here.
  bool is_parameter() const;
};
using Operand = std::shared_ptr<Entry>;  // null: absent
using Operands = std::vector<Operand>;

// Where a value was first: whose copy of a copy it is. REQUIRES an operand.
Operand origin_of(Operand operand);

// A graph that is being made. Subgraphs have frames of their own; what they use of an outer one becomes an input.
class Frame {
 public:
  explicit Frame(Frame* outer) : outer_(outer), depth_(outer == nullptr ? 0 : outer->depth_ + 1) {}
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  graph::Graph& graph() { return graph_; }
  Frame* outer() const { return outer_; }
  int depth() const { return depth_; }  // graphs that it lies in

  Operand constant(const std::string& name, Tensor tensor, bool from_file = false);
  Operand input(const std::string& name, DType dtype, std::vector<int64_t> dims);
  // Of an initializer that becomes an input. REQUIRES is_weight().
  Operand opened(const std::string& name, const TensorDef& initializer);
  Operand value(graph::ValueId id);
  // Several values in order; an error for who expects one.
  Operand sequence(const std::string& name, std::vector<Operand> items);
  // An entry that any use of is an error.
  Operand unusable(const std::string& name, std::string problem);

  // The same value in this frame. Constants are constants here, too; parameters and values of an outer frame become
  // inputs, in the order in which they are asked for.
  Operand local(const Operand& operand);
  // Of an operand of this frame: its value in the graph, where a constant is put now. kNoValue for an absent one.
  graph::ValueId id_of(const Operand& operand);
  const graph::Value& value_of(const Operand& operand);

  DType dtype(const Operand& operand) const;
  const std::vector<int64_t>& dims(const Operand& operand) const;

  // Values of the outer frame that have become inputs here.
  const Operands& captured() const { return captured_; }
  const std::vector<graph::ValueId>& parameters() const { return parameters_; }
  const std::vector<std::string>& constants() const { return constants_; }  // float initializers that are not opened
  // An opened initializer that has another name in the graph; "": there is none.
  const std::string& renamed() const { return renamed_; }

 private:
  graph::ValueId open(Entry& entry);

  Frame* const outer_;
  const int depth_;
  graph::Graph graph_;
  Operands captured_;
  std::map<const Entry*, std::pair<Operand, Operand>> locals_;  // the outer entry, kept alive, and the one here
  std::vector<graph::ValueId> parameters_;
  std::vector<std::string> constants_;
  std::string renamed_;
};

// What attributes of a function's nodes refer to.
using AttributeValues = std::map<std::string, AttributeDef>;

// The names of a graph or of a function's body. Not owned: all of it must outlive the scope.
class Scope {
 public:
  Scope(Frame& frame, const Scope* outer, const std::vector<OpsetDef>& opsets)
      : frame_(frame), outer_(outer), opsets_(opsets) {}

  Frame& frame() const { return frame_; }
  // Null when there is no such name.
  Operand find(const std::string& name) const;
  // False when the name is taken, here or in a graph around this one.
  bool define(const std::string& name, Operand operand) {
    return (outer_ == nullptr || !outer_->has(name)) && define_input(name, std::move(operand));
  }
  // The same for the input of a graph within a node, which may hide a value around it.
  bool define_input(const std::string& name, Operand operand) {
    return names_.emplace(name, std::move(operand)).second;
  }
  std::optional<int64_t> opset(std::string_view domain) const { return version_of(opsets_, domain); }
  const std::vector<OpsetDef>& opsets() const { return opsets_; }

  // What a value that the body names so is called in the graph.
  std::string shown(const std::string& name) const;

  std::string prefix;                                  // of a function's body
  std::unordered_map<std::string, std::string> given;  // names that a caller gave
  const AttributeValues* attributes = nullptr;         // of a function's body, and of subgraphs in it
  const std::vector<NodeDef>* nodes = nullptr;         // of this body
  int depth = 0;

 private:
  bool has(const std::string& name) const { return names_.contains(name) || (outer_ != nullptr && outer_->has(name)); }

  Frame& frame_;
  const Scope* const outer_;  // null, too, for the body of a function
  const std::vector<OpsetDef>& opsets_;
  std::unordered_map<std::string, Operand> names_;
};

}  // namespace isobit::onnx
