// Elements of softmaxes and cross-entropies; letters as in kernels/softmax/softmax.h. Elements come in the order of
// their sources (graph/ops/softmax.cpp).
#include "isobit/graph/ops/sources.h"
#include "isobit/kernels/softmax/formulas.h"
#include "isobit/runtime/element_formula.h"

namespace isobit::runtime {

namespace {

namespace r = kernels::reference;

// (m; x ..): e of each.
ElementFormula sum_of_exponentials() {
  return {.fold = Fold::kSum, .once = 1, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                           return r::shifted_exp(t.each[0], t.once[0]);
                                         })};
}

ElementFormula log_of_sum() {
  ElementFormula formula = sum_of_exponentials();
  formula.end = end_of([]<class T>(const FormulaTerms<T>&, T s, int64_t) { return r::log_of(s); });
  return formula;
}

// (y, dy ..)
ElementFormula sum_of_products() {
  return {.fold = Fold::kSum, .each = 2, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                           const T p = t.each[0] * t.each[1];
                                           return p;
                                         })};
}

// Of a masked element nothing is known, and it is +0.
template <class T>
bool is_masked(const FormulaTerms<T>& t) {
  return t.once.empty();
}

// (x, m, s)
ElementFormula softmax() {
  return pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    return is_masked(t) ? T(0) : r::softmax_of(r::shifted_exp(t.once[0], t.once[1]), t.once[2]);
  });
}

// (y, dy, s)
ElementFormula softmax_grad() {
  return pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    return is_masked(t) ? T(0) : r::softmax_grad_of(t.once[0], t.once[1], t.once[2]);
  });
}

// (m, l, x)
ElementFormula row_loss() {
  return pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    return r::cross_entropy_of(t.once[2], t.once[0], t.once[1]);
  });
}

// (x, the label, m, l, g); g is the row's own, or that of the mean.
ElementFormula cross_entropy_grad() {
  return pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
    const graph::ElementQuery& q = t.query;
    const int64_t row = q.element / q.dims()[1], column = q.element % q.dims()[1];
    const T g = q.inputs[4].empty() ? t.once[4] / static_cast<T>(q.dims()[0]) : t.once[4];
    return r::cross_entropy_grad_of(t.once[0], graph::ops::integer_at(q, 1, row) == column, t.once[2], t.once[3], g);
  });
}

// (a statistic)
ElementFormula itself() {
  return pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) { return t.once[0]; });
}

}  // namespace

void add_softmax_formulas(FormulaTable& table) {
  const ElementFormula max = folded(Fold::kMaximum), sum = sum_of_exponentials(), log_sum = log_of_sum();
  table["Softmax"] = {{softmax()}, {max, sum}};
  table["isobit.CausalSoftmax"] = {{softmax()}, {max, sum}};
  table["LogSoftmax"] = {{pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
                           return r::log_softmax_of(t.once[0], t.once[1], t.once[2]);
                         })},
                         {max, log_sum}};
  table["isobit.SoftmaxGrad"] = {{softmax_grad()}, {sum_of_products()}};
  table["isobit.CausalSoftmaxGrad"] = {{softmax_grad()}, {sum_of_products()}};
  table["isobit.LogSoftmaxGrad"] = {{pointwise([]<class T>(const FormulaTerms<T>& t, T, int64_t) {
                                      return r::log_softmax_grad_of(t.once[0], t.once[1], t.once[2]);
                                    })},
                                    {folded(Fold::kSum)}};
  table["isobit.CrossEntropy"] = {{folded(Fold::kMean), itself(), max, itself()}, {max, log_sum, row_loss()}};
  table["isobit.CrossEntropyGrad"] = {{cross_entropy_grad()}};
  // (m; x ..), then (m, s)
  table["ReduceLogSumExp"] = {
      {pointwise(
          []<class T>(const FormulaTerms<T>& t, T, int64_t) { return r::log_sum_exp_of(t.once[0], t.once[1]); })},
      {max, {.fold = Fold::kSum, .once = 1, .term = term_of([]<class T>(const FormulaTerms<T>& t) {
                                              return r::shifted_exp(t.each[0], r::finite_or_zero(t.once[0]));
                                            })}}};
}

}  // namespace isobit::runtime
