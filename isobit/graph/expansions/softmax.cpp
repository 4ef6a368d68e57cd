#include "isobit/graph/expansions/softmax.h"

#include <numeric>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::expansions {
namespace {

using Dims = std::vector<int64_t>;

// Of a node with one input, one output and attribute axis.
Expected<int64_t> axis_of(const NodeArguments& a, int64_t otherwise) {
  ISOBIT_RETURN_IF_ERROR(a.expect(1, 1, 1, {{"axis", ops::kInt}}));
  const int64_t axis = a.attributes.integer("axis", otherwise);
  if (axis == -1 && !a.value(0).has_rank()) return axis;
  ISOBIT_TRY(const int rank, a.rank(0));
  return normalized_axis(axis, rank);
}

bool is_last(const NodeArguments& a, int64_t axis) {
  return axis == -1 || axis + 1 == static_cast<int64_t>(a.value(0).dims.size());
}

// Our operators of the last axis.
Expected<Values> over_axis(const NodeArguments& a, const char* op) {
  ISOBIT_TRY(const int64_t axis, axis_of(a, -1));
  Builder b(a);
  if (is_last(a, axis)) return b.finish({b.unary(op, a.input(0), kResult)});
  Dims perm(a.value(0).dims.size());
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  const ValueId there = b.unary(op, b.transpose(a.input(0), perm, "Transpose"), op);
  return b.finish({b.transpose(there, perm, kResult)});
}

// `rule` with `op` of the matrix whose columns are the axes from `axis` on.
using Rule = ValueId (*)(Builder&, const char* op, ValueId, const char* what);
Expected<Values> of_matrix(const NodeArguments& a, const char* op, Rule rule) {
  ISOBIT_TRY(const int64_t axis, axis_of(a, 1));
  Builder b(a);
  if (is_last(a, axis)) return b.finish({rule(b, op, a.input(0), kResult)});
  const ValueId matrix = b.node("Flatten", {a.input(0)}, {{"axis", axis}}, "Flatten");
  return b.finish({b.reshape_like(rule(b, op, matrix, op), a.input(0), axis == 1, kResult)});
}

ValueId one_node(Builder& b, const char* op, ValueId x, const char* what) { return b.unary(op, x, what); }

// How many elements an axis has, as a scalar: for what a run will know.
ValueId extent(Builder& b, ValueId x, int64_t axis) {
  const ValueId shape = b.unary("Shape", x, "Shape");
  return b.node("Gather", {shape, b.constant(Tensor::scalar(axis), "axis")}, {}, "Gather");
}

ValueId largest_marked(Builder& b, const char* op, ValueId x, int64_t axis, const char* what) {
  const DType dtype = b.dtype(x);
  b.require(b.is_float(x), text_of("'", b.name(x), "' is ", name_of(dtype), ", expected float32 or float64"));
  b.require(b.rank(x) >= 0, text_of("the rank of '", b.name(x), "' is not known"));
  Values inputs = {b.node("ArgMax", {x}, {{"axis", axis}, {"keepdims", int64_t{0}}}, "ArgMax"), kNoValue, kNoValue};
  Attributes attributes = {{"axis", axis}};
  const int64_t depth = b.dim(x, static_cast<int>(axis));
  if (depth >= 0) {
    attributes.set("depth", depth);
  } else {
    inputs[1] = extent(b, x, axis);
  }
  inputs[2] = b.numbers(dtype, {0, 1}, {2}, "values");
  return b.node(op, inputs, attributes, what);
}

ValueId largest_of_last(Builder& b, const char* op, ValueId x, const char* what) {
  return largest_marked(b, op, x, b.rank(x) - 1, what);
}

}  // namespace

Expected<Values> softmax(Graph& graph, const Values& inputs, const Attributes& attributes,
                         const std::vector<std::string>& outputs) {
  return over_axis({graph, inputs, attributes, outputs}, "Softmax");
}

Expected<Values> log_softmax(Graph& graph, const Values& inputs, const Attributes& attributes,
                             const std::vector<std::string>& outputs) {
  return over_axis({graph, inputs, attributes, outputs}, "LogSoftmax");
}

Expected<Values> hardmax(Graph& graph, const Values& inputs, const Attributes& attributes,
                         const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_TRY(const int64_t axis, axis_of(a, -1));
  ISOBIT_RETURN_IF_ERROR(a.rank(0));
  Builder b(a);
  return b.finish({largest_marked(b, "OneHot", inputs[0], axis, kResult)});
}

Expected<Values> softmax_of_matrix(Graph& graph, const Values& inputs, const Attributes& attributes,
                                   const std::vector<std::string>& outputs) {
  return of_matrix({graph, inputs, attributes, outputs}, "Softmax", one_node);
}

Expected<Values> log_softmax_of_matrix(Graph& graph, const Values& inputs, const Attributes& attributes,
                                       const std::vector<std::string>& outputs) {
  return of_matrix({graph, inputs, attributes, outputs}, "LogSoftmax", one_node);
}

Expected<Values> hardmax_of_matrix(Graph& graph, const Values& inputs, const Attributes& attributes,
                                   const std::vector<std::string>& outputs) {
  return of_matrix({graph, inputs, attributes, outputs}, "OneHot", largest_of_last);
}

}  // namespace isobit::graph::expansions
