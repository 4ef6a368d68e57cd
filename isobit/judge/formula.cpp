#include "isobit/judge/formula.h"

#include <type_traits>

#include "isobit/base/text.h"
#include "isobit/judge/words.h"
#include "isobit/kernels/elementwise/unary.h"

namespace isobit::judge {

using runtime::Fold;

DType computed_in(const Question& q, const Plan& plan) {
  if (plan.formula->in_double) return DType::kFloat64;
  const bool is_real = q.type() == DType::kFloat32 || q.type() == DType::kFloat64;
  return is_real || plan.count == 0 ? q.type() : q.type_of(needs_between(plan, 0, 1).front());
}

template <class T>
FormulaRun<T>::FormulaRun(const Question& q, const Plan& plan)
    : q_(q), plan_(plan), fold_(plan.formula->fold_of(q.where.node)) {
  const auto all = static_cast<size_t>(plan.count);
  each_ = plan.formula->each_of(q.where);
  once_ = fold_ == Fold::kNone ? all : plan.formula->once;
  ISOBIT_CHECK(once_ <= all && (all - once_) % each_ == 0);
  terms_ = static_cast<int64_t>((all - once_) / each_);
  if (terms_ > 0) weights_ = plan.weights.size() / static_cast<size_t>(terms_);
  from_once_ = needs_between(plan, 0, static_cast<int64_t>(once_));
}

template <class T>
T FormulaRun<T>::number(const graph::ElementSource& s, Bits bits) const {
  T x = T(0);
  const DType dtype = q_.type_of(s);
  if (dtype == DType::kBool) return static_cast<T>(bits != 0 ? 1 : 0);
  by_type(NumberTypes{}, dtype, [&]<class From>(From) { x = static_cast<T>(from_word<From>(bits)); });
  return x;
}

template <class T>
FoldState<T> FormulaRun<T>::begin(std::span<const Bits> once) {
  taken_.clear();
  for (size_t i = 0; i < once_; ++i) taken_.push_back(number(from_once_[i], once[i]));
  return FoldState<T>(fold_, taken_.empty() ? T(0) : taken_.front());
}

template <class T>
void FormulaRun<T>::add(FoldState<T>& state, int64_t p, const graph::ElementSource* from,
                        std::span<const Bits> values) {
  of_term_.clear();
  for (size_t i = 0; i < each_; ++i) of_term_.push_back(number(from[i], values[i]));
  if constexpr (std::is_floating_point_v<T>) {
    const runtime::TermRule<T>& rule = plan_.formula->term.template in<T>();
    const auto weights = std::span(plan_.weights).subspan(static_cast<size_t>(p) * weights_, weights_);
    if (rule) return state.add(rule({q_.where, taken_, of_term_, from, weights}));
  }
  state.add(of_term_.front());
}

template <class T>
Bits FormulaRun<T>::finish(const FoldState<T>& state) const {
  if (fold_ == Fold::kFirstPlace) {
    if (state.place() < 0) return word_of(plan_.formula->place(q_.where, nullptr));
    const auto first = static_cast<int64_t>(once_) + state.place() * static_cast<int64_t>(each_);
    return word_of(plan_.formula->place(q_.where, needs_between(plan_, first, first + 1).data()));
  }
  T x = fold_ == Fold::kNone ? T(0) : state.value();
  if constexpr (std::is_floating_point_v<T>) {
    const runtime::EndRule<T>& rule = plan_.formula->end.template in<T>();
    if (rule) x = rule({q_.where, taken_, {}, from_once_.data(), plan_.weights}, x, state.count());
  }
  if (q_.type() == dtype_of<T>()) return word_of(x);
  ThreadPool pool(1);
  Bits bits = 0;
  kernels::cast({kernels::Isa::kReference, &pool}, dtype_of<T>(), q_.type(), 1, &x, &bits);
  return bits;
}

Expected<Bits> evaluate_formula(const Question& q, const Plan& plan, std::span<const Bits> values) {
  Bits bits = 0;
  const DType dtype = computed_in(q, plan) == DType::kBool ? DType::kUint8 : computed_in(q, plan);
  const bool known = by_type(NumberTypes{}, dtype, [&]<class T>(T) {
    FormulaRun<T> run(q, plan);
    FoldState<T> state = run.begin(values);
    for (int64_t p = 0; p < run.terms(); ++p) {
      const size_t first = run.once() + static_cast<size_t>(p) * run.each();
      run.add(state, p, &plan.needs[first], values.subspan(first, run.each()));
    }
    bits = run.finish(state);
  });
  if (!known) return unreadable(text_of("no formula of ", name_of(dtype)));
  return bits;
}

template class FormulaRun<float>;
template class FormulaRun<double>;

}  // namespace isobit::judge
