// How an element is computed from the elements that it is made of (graph/element.h), for what no kernel computes alone:
// sums, extremes, and what is made with statistics. One table from operator to formula, beside that of the kernels; the
// formulas are those of the kernels' references.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isobit/graph/element.h"

namespace isobit::runtime {

// What becomes of an element's terms, as kernels/reduce/reduce.h has it.
enum class Fold : uint8_t {
  kNone,         // there are no terms
  kSum,          // Sum
  kSumFromZero,  // Sum of +0 and the terms behind it
  kAdded,        // +0, plus one rounded add for each term, every NaN the canonical one
  kMean,         // Sum / T(n)
  kExactMean,    // of floats the one nearest to the exact mean, of doubles Sum / T(n) (kernels/norm/batch_norm.h)
  kVariance,     // likewise; of doubles around the mean, which is the first of what is taken once
  kSquares,      // global_sum_of_squares; of integers the sum of their squares
  kMaximum,      // Max
  kMinimum,      // the least (kernels/reduce/fold.h)
  kProduct,      // of the terms in their order, from 1 on
  kFirstPlace,   // where the Max is, the first one among equals: `place` says how that is written
};

// What a formula sees: the element that is asked for, what is taken once, and of one term what it takes, where that is
// from, and its weights.
template <class T>
struct FormulaTerms {
  const graph::ElementQuery& query;
  std::span<const T> once;
  std::span<const T> each = {};
  const graph::ElementSource* from = nullptr;  // of the term's first element; at the end of the first that is taken
  std::span<const double> weights = {};        // those of Sampled
};

// The elements that an element is made of where coordinates say which, and by how much each counts: as many weights for
// each term.
struct Sampled {
  std::vector<graph::ElementSource> sources = {};
  std::vector<double> weights = {};
};

template <class T>
using TermRule = std::function<T(const FormulaTerms<T>&)>;
// folded: what the fold makes of `count` terms; 0 where there are none to fold.
template <class T>
using EndRule = std::function<T(const FormulaTerms<T>&, T folded, int64_t count)>;

// One rule in both real types.
template <template <class> class Rule>
struct InBoth {
  Rule<float> single = {};
  Rule<double> twice = {};
  template <class T>
  const Rule<T>& in() const {
    if constexpr (sizeof(T) == 4) {
      return single;
    } else {
      return twice;
    }
  }
};

// Of the elements that a source rule names, in its order: the first `once` are taken once, then `each` by each term.
// Without a fold all are taken once.
struct ElementFormula {
  Fold fold = Fold::kNone;
  size_t once = 0, each = 1;
  InBoth<TermRule> term = {};  // empty: the one element of a term; always so where elements are integers
  InBoth<EndRule> end = {};    // empty: what the fold gives; likewise
  // It is computed in float64 whatever the type, and rounded to that once, at the end.
  bool in_double = false;
  // Of kFirstPlace; null: there are no terms.
  std::function<int64_t(const graph::ElementQuery&, const graph::ElementSource* largest)> place = {};
  // Where it follows from the node's attributes, in place of `fold`.
  std::function<Fold(const graph::Node&)> fold_by = {};
  // Where one element alone stays what it is, bits and all.
  std::function<bool(const graph::Node&)> moves_one = {};
  // Of what the operator's definition has no sources for: in place of these, of its guides, and of `each`.
  std::function<Sampled(const graph::ElementQuery&)> sampled = {};
  std::vector<graph::SourceRule> guides = {};
  std::function<size_t(const graph::ElementQuery&)> each_by = {};

  Fold fold_of(const graph::Node& node) const { return fold_by ? fold_by(node) : fold; }
  size_t each_of(const graph::ElementQuery& query) const { return each_by ? each_by(query) : each; }
};

// By output and by statistic; an output behind the last is like it. Empty: nothing is said.
struct ElementFormulas {
  std::vector<ElementFormula> outputs = {}, statistics = {};
};
using FormulaTable = std::map<std::string, ElementFormulas>;

// Of every operator one of whose elements needs a formula. Null: the operator has none.
const ElementFormulas* element_formulas(const graph::Node& node);

// f is a generic callable: f(terms), or f(terms, folded, count).
template <class F>
InBoth<TermRule> term_of(F f) {
  return {f, f};
}
template <class F>
InBoth<EndRule> end_of(F f) {
  return {f, f};
}
inline ElementFormula folded(Fold fold) { return {.fold = fold}; }
template <class F>
ElementFormula pointwise(F end) {
  return {.end = end_of(std::move(end))};
}

// One function per family, in runtime/kernels/.
void add_softmax_formulas(FormulaTable& table);
void add_norm_formulas(FormulaTable& table);
void add_sum_formulas(FormulaTable& table);
void add_sampling_formulas(FormulaTable& table);
void add_region_formulas(FormulaTable& table);

}  // namespace isobit::runtime
