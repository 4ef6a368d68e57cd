// What the expansions of composite operators share: nodes that are named after the operator that they stand for,
// constants, and the shapes between them.
//
// An expansion is a function that appends to a graph the primitives that an operator of ONNX is made of, and returns
// the values that its outputs became, in the operator's order; kNoValue where an output was not asked for. No operator
// of such a name is left in the graph, so that what is known of primitives (kernels, gradients, determinism, rules of
// elements) is known of it.
//
// Every expansion: float16 and bfloat16 are not computed with, inputs have been cast before. Ranks are known;
// extents that need not be known are -1 and stay so. Errors (kUnreadable): arguments that do not fit, named with the
// node and the operator; after an error the graph has some of the nodes and is of no use.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

using Values = std::vector<ValueId>;

// What an expansion is given that takes a node of ONNX as it stands. Its errors do not say which node: who has it does.
// All of it outlives this.
struct NodeArguments {
  Graph& graph;
  const Values& inputs;  // kNoValue: absent
  const Attributes& attributes;
  const std::vector<std::string>& outputs;  // names; "": absent

  // Comes first. Errors: another number of inputs or outputs, one of the first `least` inputs or output 0 absent, an
  // attribute that is not named here or of another type (InferContext::expect_attributes).
  Status expect(int least, int most, int most_outputs,
                std::initializer_list<std::pair<const char*, size_t>> attributes_and_types) const;
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : kNoValue; }
  const Value& value(size_t i) const { return graph.value(inputs[i]); }  // until the next node is added
  Expected<int> rank(size_t i) const;                                    // Errors: it is not known.
  std::string output(size_t o) const { return o < outputs.size() ? outputs[o] : ""; }
};

// As `what` of Builder's functions: the value is the operator's result, which has the name of the node.
inline constexpr const char* kResult = "";

// Appends nodes. The first error is kept: from then on nothing is appended, every value is kNoValue and every question
// has an answer, so that an expansion reads as formulas and asks once, in finish().
class Builder {
 public:
  // op: as errors say it; "": they do not begin with the node. name: of the node; names of values begin with it.
  Builder(Graph& graph, std::string op, std::string name)
      : graph_(graph), op_(std::move(op)), name_(std::move(name)), result_(name_) {}
  // name: of output 0.
  explicit Builder(const NodeArguments& a) : Builder(a.graph, "", a.output(0)) {}

  // Comes before `what` in names. Many nodes that say the same `what` need scopes: a name that is taken costs a search.
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  // What kResult stands for from now on, where a node has more than one.
  void set_result(std::string name) { result_ = std::move(name); }

  bool failed() const { return failed_; }
  // Keeps the message if it is the first. Returns kNoValue.
  ValueId fail(std::string message);
  // Fails unless the condition holds. Returns whether there was no error so far.
  bool require(bool condition, const std::string& message);
  // The values, or the first error.
  Expected<std::vector<ValueId>> finish(std::vector<ValueId> outputs) const;

  // Fails where one of these has no rank before the run; kNoValue is passed over.
  bool require_ranks(std::initializer_list<ValueId> values);

  // What is known of a value. Nothing of kNoValue: an unknown extent, rank 0, float32, no name. A rank that is not
  // known is -1.
  std::string name(ValueId v) const { return v == kNoValue ? "" : graph_.value(v).name; }
  DType dtype(ValueId v) const;
  const std::vector<int64_t>& dims(ValueId v) const;
  int rank(ValueId v) const { return dims(v) == kUnknownRank ? -1 : static_cast<int>(dims(v).size()); }
  int64_t dim(ValueId v, int axis) const;  // negative axes count from the end; -1 outside the shape
  bool is_float(ValueId v) const;
  bool is_integer(ValueId v) const;
  // The product of two extents: -1 when one is not known; an error where it cannot be counted.
  int64_t times(int64_t a, int64_t b);
  const Tensor* constant_of(ValueId v) const;  // null: it is not known before the run

  // A node; `what` names its outputs.
  ValueId node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes, const std::string& what);
  std::vector<ValueId> nodes(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                             const std::vector<std::string>& outputs);

  ValueId constant(Tensor tensor, const std::string& what);
  // Real numbers, rounded to `dtype`. REQUIRES as many as the dimensions hold.
  ValueId numbers(DType dtype, const std::vector<double>& values, std::vector<int64_t> dims, const std::string& what);
  // Made once for each value of an expansion.
  ValueId scalar(DType dtype, double value);             // rounded to the type
  ValueId integers(const std::vector<int64_t>& values);  // int64, rank 1
  ValueId integer(int64_t value);                        // int64, rank 0

  // A primitive each, or nothing where it would change nothing.
  ValueId add(ValueId a, ValueId b, const std::string& what) { return node("Add", {a, b}, {}, what); }
  ValueId sub(ValueId a, ValueId b, const std::string& what) { return node("Sub", {a, b}, {}, what); }
  ValueId mul(ValueId a, ValueId b, const std::string& what) { return node("Mul", {a, b}, {}, what); }
  ValueId div(ValueId a, ValueId b, const std::string& what) { return node("Div", {a, b}, {}, what); }
  ValueId where(ValueId c, ValueId a, ValueId b, const std::string& what) { return node("Where", {c, a, b}, {}, what); }
  ValueId unary(const std::string& op, ValueId v, const std::string& what) { return node(op, {v}, {}, what); }
  // a b^T of matrices in the last two axes.
  ValueId matmul_transposed(ValueId a, ValueId b, const std::string& what);
  ValueId cast(ValueId v, DType to, const std::string& what);
  ValueId transpose(ValueId v, const std::vector<int64_t>& permutation, const std::string& what);
  // In ONNX's notation: 0 is the source's extent in this place, one -1 what remains.
  ValueId reshape(ValueId v, std::vector<int64_t> shape, const std::string& what);
  // The first `leading` extents stay; then come these, of which 0 is none and one may be -1, what remains.
  ValueId reshape_to(ValueId v, std::vector<int64_t> extents, const std::string& what, int leading = 0);
  // The shape as it is written here, by a node in any case.
  ValueId reshape_as_written(ValueId v, std::vector<int64_t> shape, const std::string& what) {
    return node("Reshape", {v}, {{"shape", std::move(shape)}}, what);
  }
  // By a node in any case: under the dimensions of `like`, of which `first_kept` says that v has the first one.
  ValueId reshape_like(ValueId v, ValueId like, bool first_kept, const std::string& what);
  // axes count in the result of unsqueeze, and in the source of squeeze.
  ValueId unsqueeze(ValueId v, const std::vector<int64_t>& axes, const std::string& what);
  ValueId squeeze(ValueId v, const std::vector<int64_t>& axes, const std::string& what);
  // The places start, start + step, ... below `end` of one axis.
  ValueId slice(ValueId v, int64_t axis, int64_t start, int64_t end, int64_t step, const std::string& what);
  // One value for each of the sizes, which add up to the axis; `what` and a number names each.
  std::vector<ValueId> split(ValueId v, int64_t axis, const std::vector<int64_t>& sizes, const std::string& what);
  ValueId concat(const std::vector<ValueId>& parts, int64_t axis, const std::string& what);
  ValueId gather(ValueId v, ValueId indices, int64_t axis, const std::string& what);
  // ReduceSum, ReduceMax and the like.
  ValueId reduce(const std::string& op, ValueId v, const std::vector<int64_t>& axes, bool keep,
                 const std::string& what);

  // The extent of an axis as an int64 of rank 0: a constant where it is known.
  ValueId extent(ValueId v, int axis, const std::string& what);
  // The integers 0 .. count - 1 of rank 1, where count is an int64 of rank 0.
  ValueId range(ValueId count, const std::string& what);

 private:
  std::string named(const std::string& what) const { return what.empty() ? result_ : name_ + "/" + scope_ + what; }
  ValueId reshape_resolved(ValueId v, std::vector<int64_t> shape, const std::string& what);

  Graph& graph_;
  std::string op_, name_, result_, scope_;
  bool failed_ = false;
  Error error_;
  std::map<std::pair<DType, uint64_t>, ValueId> scalars_;
  std::map<int64_t, ValueId> whole_;
  std::map<std::vector<int64_t>, ValueId> integers_;
};

}  // namespace isobit::graph::expansions
