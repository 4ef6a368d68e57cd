#include "isobit/graph/expansions/reductions.h"

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::expansions {
namespace {

using ops::kInt;

Status check(const NodeArguments& a) {
  return a.expect(1, 2, 1, {{"axes", ops::kInts}, {"keepdims", kInt}, {"noop_with_empty_axes", kInt}});
}

// `op` of the data, and `then` of that unless it is null; integers by way of float64.
Expected<Values> in_reals(const NodeArguments& a, const char* op, const char* then) {
  ISOBIT_RETURN_IF_ERROR(check(a));
  const DType dtype = a.value(0).dtype;
  const bool is_real = FloatTypes::contains(dtype);
  if (!is_real && !IntegerTypes::contains(dtype)) {
    return unreadable(text_of("'", a.value(0).name, "' is ", name_of(dtype), ", expected numbers"));
  }
  Builder b(a);
  Values inputs = a.inputs;
  if (!is_real) inputs[0] = b.cast(inputs[0], DType::kFloat64, "Cast");
  ValueId y = b.node(op, inputs, a.attributes, is_real && then == nullptr ? kResult : op);
  if (then != nullptr) y = b.unary(then, y, is_real ? kResult : then);
  return b.finish({b.cast(y, dtype, kResult)});
}

}  // namespace

Expected<Values> reduce_l1(Graph& graph, const Values& inputs, const Attributes& attributes,
                           const std::vector<std::string>& outputs) {
  const NodeArguments a = {graph, inputs, attributes, outputs};
  ISOBIT_RETURN_IF_ERROR(check(a));
  Builder b(a);
  Values summed = inputs;
  const DType dtype = b.dtype(inputs[0]);
  const bool has_signs = FloatTypes::contains(dtype) || SignedTypes::contains(dtype);
  if (has_signs) summed[0] = b.unary("Abs", inputs[0], "Abs");
  return b.finish({b.node("ReduceSum", summed, attributes, kResult)});
}

Expected<Values> reduce_log_sum(Graph& graph, const Values& inputs, const Attributes& attributes,
                                const std::vector<std::string>& outputs) {
  return in_reals({graph, inputs, attributes, outputs}, "ReduceSum", "Log");
}

Expected<Values> reduce_l2(Graph& graph, const Values& inputs, const Attributes& attributes,
                           const std::vector<std::string>& outputs) {
  return in_reals({graph, inputs, attributes, outputs}, "ReduceL2", nullptr);
}

Expected<Values> reduce_log_sum_exp(Graph& graph, const Values& inputs, const Attributes& attributes,
                                    const std::vector<std::string>& outputs) {
  return in_reals({graph, inputs, attributes, outputs}, "ReduceLogSumExp", nullptr);
}

}  // namespace isobit::graph::expansions
