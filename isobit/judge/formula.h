// Elements by formula: what is taken once, terms folded one after the other, and what becomes of that. Internal.
#pragma once

#include <span>

#include "isobit/judge/fold.h"
#include "isobit/judge/way.h"

namespace isobit::judge {

// The type in which a formula is computed: that of the element, or where that is a place or a byte that of what it is
// made of. REQUIRES a plan by a formula.
DType computed_in(const Question& q, const Plan& plan);

// REQUIRES a plan by a formula, and its needs' values. kUnreadable for a type that it does not have.
Expected<Bits> evaluate_formula(const Question& q, const Plan& plan, std::span<const Bits> values);

// The elements of a formula's needs as numbers of one type. T: float, double, or an integer where the formula is a fold
// and no more.
template <class T>
class FormulaRun {
 public:
  FormulaRun(const Question& q, const Plan& plan);

  int64_t terms() const { return terms_; }
  size_t once() const { return once_; }
  size_t each() const { return each_; }
  // once: the values of what is taken once.
  FoldState<T> begin(std::span<const Bits> once);
  // Of the next term, number p: which elements it takes, each() of them, and their values.
  void add(FoldState<T>& state, int64_t p, const graph::ElementSource* from, std::span<const Bits> values);
  Bits finish(const FoldState<T>& state) const;

 private:
  T number(const graph::ElementSource& s, Bits bits) const;

  const Question& q_;
  const Plan& plan_;
  runtime::Fold fold_;
  size_t once_ = 0, each_ = 1, weights_ = 0;  // weights of a term
  int64_t terms_ = 0;
  std::vector<graph::ElementSource> from_once_;
  std::vector<T> taken_, of_term_;
};

}  // namespace isobit::judge
