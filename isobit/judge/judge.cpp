#include "isobit/judge/judge.h"

#include "isobit/base/text.h"
#include "isobit/judge/alone.h"
#include "isobit/judge/formula.h"
#include "isobit/judge/way.h"

namespace isobit::judge {
namespace {

template <class State, class T>
Bits product_of(const ProductTerms& terms, std::span<const Bits> values) {
  State state;
  add_terms<State, T>(state, terms, values, 0, terms.count);
  if (terms.bias < 0) return word_of(state.value(nullptr));
  const T bias = from_word<T>(values.back());
  return word_of(state.value(&bias));
}

}  // namespace

Expected<std::vector<graph::ElementSource>> needs_of(const Question& q) {
  ISOBIT_TRY(Plan plan, plan_for(q));
  return std::move(plan.needs);
}

Status can_judge(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(way_of(q));
  return {};
}

Expected<Bits> evaluate(const kernels::KernelContext& ctx, const Question& q, std::span<const Bits> values,
                        const platform::Arithmetic& arithmetic) {
  ISOBIT_TRY(const Plan plan, plan_for(q));
  if (values.size() != plan.needs.size()) {
    return unreadable(text_of(values.size(), " values, expected ", plan.needs.size()));
  }
  switch (plan.way) {
    case Way::kMoved:
      return values.empty() ? Bits{0} : values[0];
    case Way::kFormula:
      return evaluate_formula(q, plan, values);
    case Way::kProduct:
      if (q.type() == DType::kFloat64) return product_of<OrderedState<double>, double>(plan.product, values);
      return arithmetic.corrects ? product_of<ExactState, float>(plan.product, values)
                                 : product_of<OrderedState<float>, float>(plan.product, values);
    case Way::kOneByOne:
    case Way::kAlongLine:
      return run_alone(ctx, q, plan, values);
  }
  ISOBIT_CHECK(false);
  return Bits{0};
}

}  // namespace isobit::judge
