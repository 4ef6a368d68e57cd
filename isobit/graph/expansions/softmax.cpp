#include "isobit/graph/expansions/softmax.h"

#include <numeric>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/steps.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::expansions {
namespace {

using Dims = std::vector<int64_t>;

// Of a node with one input, one output and attribute axis.
Expected<int64_t> axis_of(const Steps& s, int64_t otherwise) {
  ISOBIT_RETURN_IF_ERROR(s.expect(1, 1, 1, {{"axis", ops::kInt}}));
  const int64_t axis = s.attributes().integer("axis", otherwise);
  if (axis == -1 && !s.value_of(0).has_rank()) return axis;
  ISOBIT_TRY(const int rank, s.rank_of(0));
  return normalized_axis(axis, rank);
}

bool is_last(const Steps& s, int64_t axis) {
  return axis == -1 || axis + 1 == static_cast<int64_t>(s.value_of(0).dims.size());
}

// Our operators of the last axis.
Expected<Values> over_axis(Steps s, const char* op) {
  ISOBIT_TRY(const int64_t axis, axis_of(s, -1));
  if (is_last(s, axis)) {
    ISOBIT_TRY(const ValueId y, s.add_output(0, op, {s.input(0)}));
    return Values{y};
  }
  Dims perm(s.value_of(0).dims.size());
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  ISOBIT_TRY(const ValueId moved, s.add("Transpose", {s.input(0)}, {{"perm", perm}}));
  ISOBIT_TRY(const ValueId there, s.add(op, {moved}));
  ISOBIT_TRY(const ValueId y, s.add_output(0, "Transpose", {there}, {{"perm", perm}}));
  return Values{y};
}

// `rule` of the matrix whose columns are the axes from `axis` on.
using Rule = Expected<ValueId> (*)(Steps&, ValueId, bool is_output);
Expected<Values> of_matrix(Steps s, Rule rule) {
  ISOBIT_TRY(const int64_t axis, axis_of(s, 1));
  if (is_last(s, axis)) {
    ISOBIT_TRY(const ValueId y, rule(s, s.input(0), true));
    return Values{y};
  }
  ISOBIT_TRY(const ValueId matrix, s.add("Flatten", {s.input(0)}, {{"axis", axis}}));
  ISOBIT_TRY(const ValueId there, rule(s, matrix, false));
  ISOBIT_TRY(const ValueId y, s.reshaped_like(there, s.input(0), axis == 1, true));
  return Values{y};
}

Expected<ValueId> one_node(Steps& s, const char* op, ValueId x, bool is_output) {
  return is_output ? s.add_output(0, op, {x}) : s.add(op, {x});
}

// How many elements an axis has, as a scalar: for what a run will know.
Expected<ValueId> extent(Steps& s, ValueId x, int64_t axis) {
  ISOBIT_TRY(const ValueId shape, s.add("Shape", {x}));
  const ValueId place = s.graph().add_initializer(s.output_name(0) + "/axis", Tensor::scalar(axis));
  return s.add("Gather", {shape, place});
}

template <class T>
ValueId zero_and_one(Steps& s) {
  const T values[] = {0, 1};
  return s.graph().add_initializer(s.output_name(0) + "/values", Tensor::of<T>({2}, values));
}

Expected<ValueId> largest_marked(Steps& s, ValueId x, int64_t axis, bool is_output) {
  const DType dtype = s.value(x).dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) {
    return unreadable(text_of("'", s.value(x).name, "' is ", name_of(dtype), ", expected float32 or float64"));
  }
  if (!s.value(x).has_rank()) return unreadable(text_of("the rank of '", s.value(x).name, "' is not known"));
  const int64_t depth = s.value(x).dims[static_cast<size_t>(axis)];
  ISOBIT_TRY(const ValueId places, s.add("ArgMax", {x}, {{"axis", axis}, {"keepdims", int64_t{0}}}));
  Values inputs = {places, kNoValue, kNoValue};
  Attributes attributes = {{"axis", axis}};
  if (depth >= 0) {
    attributes.set("depth", depth);
  } else {
    ISOBIT_TRY(inputs[1], extent(s, x, axis));
  }
  inputs[2] = dtype == DType::kFloat32 ? zero_and_one<float>(s) : zero_and_one<double>(s);
  return is_output ? s.add_output(0, "OneHot", inputs, attributes) : s.add("OneHot", inputs, attributes);
}

}  // namespace

Expected<Values> softmax(Graph& graph, const Values& inputs, const Attributes& attributes,
                         const std::vector<std::string>& outputs) {
  return over_axis(Steps(graph, inputs, attributes, outputs), "Softmax");
}

Expected<Values> log_softmax(Graph& graph, const Values& inputs, const Attributes& attributes,
                             const std::vector<std::string>& outputs) {
  return over_axis(Steps(graph, inputs, attributes, outputs), "LogSoftmax");
}

Expected<Values> hardmax(Graph& graph, const Values& inputs, const Attributes& attributes,
                         const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_TRY(const int64_t axis, axis_of(s, -1));
  ISOBIT_TRY(const int rank, s.rank_of(0));
  ISOBIT_TRY(const ValueId y, largest_marked(s, s.input(0), axis < 0 ? axis + rank : axis, true));
  return Values{y};
}

Expected<Values> softmax_of_matrix(Graph& graph, const Values& inputs, const Attributes& attributes,
                                   const std::vector<std::string>& outputs) {
  return of_matrix(Steps(graph, inputs, attributes, outputs),
                   [](Steps& s, ValueId x, bool is_output) { return one_node(s, "Softmax", x, is_output); });
}

Expected<Values> log_softmax_of_matrix(Graph& graph, const Values& inputs, const Attributes& attributes,
                                       const std::vector<std::string>& outputs) {
  return of_matrix(Steps(graph, inputs, attributes, outputs),
                   [](Steps& s, ValueId x, bool is_output) { return one_node(s, "LogSoftmax", x, is_output); });
}

Expected<Values> hardmax_of_matrix(Graph& graph, const Values& inputs, const Attributes& attributes,
                                   const std::vector<std::string>& outputs) {
  return of_matrix(Steps(graph, inputs, attributes, outputs), [](Steps& s, ValueId x, bool is_output) {
    return largest_marked(s, x, static_cast<int64_t>(s.value(x).dims.size()) - 1, is_output);
  });
}

}  // namespace isobit::graph::expansions
