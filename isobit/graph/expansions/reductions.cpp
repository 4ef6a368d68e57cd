#include "isobit/graph/expansions/reductions.h"

#include "isobit/base/text.h"
#include "isobit/graph/expansions/steps.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::expansions {
namespace {

using ops::kInt;

Status check(const Steps& s) {
  return s.expect(1, 2, 1, {{"axes", ops::kInts}, {"keepdims", kInt}, {"noop_with_empty_axes", kInt}});
}

// The inputs with other data.
Values with_data(const Steps& s, ValueId data) {
  Values inputs = s.inputs();
  inputs[0] = data;
  return inputs;
}

// `op` of the data, and `then` of that unless it is null; integers by way of float64.
Expected<Values> in_reals(Steps s, const char* op, const char* then) {
  ISOBIT_RETURN_IF_ERROR(check(s));
  const DType dtype = s.value_of(0).dtype;
  const ValueId src = s.input(0);
  if (FloatTypes::contains(dtype) && then == nullptr) {
    ISOBIT_TRY(const ValueId y, s.add_output(0, op, s.inputs(), s.attributes()));
    return Values{y};
  }
  if (!FloatTypes::contains(dtype) && !IntegerTypes::contains(dtype)) {
    return unreadable(text_of("'", s.value(src).name, "' is ", name_of(dtype), ", expected numbers"));
  }
  ISOBIT_TRY(const ValueId x, s.converted(src, FloatTypes::contains(dtype) ? dtype : DType::kFloat64));
  ISOBIT_TRY(ValueId y, s.add(op, with_data(s, x), s.attributes()));
  if (FloatTypes::contains(dtype)) {
    ISOBIT_TRY(y, s.add_output(0, then, {y}));
    return Values{y};
  }
  if (then != nullptr) {
    ISOBIT_TRY(y, s.add(then, {y}));
  }
  ISOBIT_TRY(y, s.add_output(0, "Cast", {y}, {{"to", static_cast<int64_t>(dtype)}}));
  return Values{y};
}

}  // namespace

Expected<Values> reduce_l1(Graph& graph, const Values& inputs, const Attributes& attributes,
                           const std::vector<std::string>& outputs) {
  Steps s(graph, inputs, attributes, outputs);
  ISOBIT_RETURN_IF_ERROR(check(s));
  const DType dtype = s.value_of(0).dtype;
  ValueId x = s.input(0);
  if (FloatTypes::contains(dtype) || SignedTypes::contains(dtype)) {
    ISOBIT_TRY(x, s.add("Abs", {x}));
  }
  ISOBIT_TRY(const ValueId y, s.add_output(0, "ReduceSum", with_data(s, x), attributes));
  return Values{y};
}

Expected<Values> reduce_log_sum(Graph& graph, const Values& inputs, const Attributes& attributes,
                                const std::vector<std::string>& outputs) {
  return in_reals(Steps(graph, inputs, attributes, outputs), "ReduceSum", "Log");
}

Expected<Values> reduce_l2(Graph& graph, const Values& inputs, const Attributes& attributes,
                           const std::vector<std::string>& outputs) {
  return in_reals(Steps(graph, inputs, attributes, outputs), "ReduceL2", nullptr);
}

Expected<Values> reduce_log_sum_exp(Graph& graph, const Values& inputs, const Attributes& attributes,
                                    const std::vector<std::string>& outputs) {
  return in_reals(Steps(graph, inputs, attributes, outputs), "ReduceLogSumExp", nullptr);
}

}  // namespace isobit::graph::expansions
