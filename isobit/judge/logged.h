// Elements of arithmetics that round (platform::Arithmetic::rounds): float64 values, of which every output is the
// nearest value of so many bits. What is no inner product is the same on every platform: its rounded value is decided.
// Of an inner product platforms may round apart, and what a trainer says is judged from the exact value by the one rule
// of runtime/stages/legality.h. Of a log that is sparse; that of ovt has no rule for single elements.
#pragma once

#include <algorithm>
#include <span>

#include "isobit/judge/product.h"
#include "isobit/judge/reduction.h"
#include "isobit/kernels/rounding/exact_value.h"
#include "isobit/runtime/stages/legality.h"

namespace isobit::judge {

// What an output that is no inner product is behind the rounding, given what it is before (evaluate()): moved values
// and integers as they are. The question's type is float64 where it is real.
Bits rounded(const Question& q, Bits before, int bits);

// An inner product's exact value and what else the rule asks of it.
struct ExactElement {
  kernels::rounding::ExactOutput output;
  bool adds_exactly = false;  // no addition of its terms can round: every platform has z
};

// Whether `claimed`, the element of the rounded output that the trainer published, is one that an honest trainer may
// have, and why not: kDecided where it is what z rounds to, else the standing of a log's entry that says so. A claim
// that is no value of so many bits, or a zero with a sign, is illegal.
runtime::Ruling rule_on_claim(const ExactElement& element, Bits claimed, const runtime::ErrorBounds& bounds, int bits);

// An inner product of float64 operands that are float32 values, chunk by chunk (Reduction's words): its terms in the
// order of the elements of its lines, not in that of ordered-1, since that is the order of z. The question must outlive
// it.
class LoggedProduct {
 public:
  // kUnreadable for anything else.
  static Expected<LoggedProduct> of(const Question& q);

  int64_t terms() const { return terms_.count; }
  int64_t chunks() const { return (terms() + Reduction::kMostTerms - 1) / Reduction::kMostTerms; }
  int64_t chunk_begin(int64_t chunk) const { return std::min(chunk * Reduction::kMostTerms, terms()); }
  // The bias, if there is one: needed at the end alone.
  std::vector<graph::ElementSource> once() const;
  std::vector<graph::ElementSource> needs(int64_t chunk) const;

  State begin() const;
  // kUnreadable for another number of values, for one that is no float32 value, and for words that are no state there.
  Expected<State> partial(int64_t chunk, std::span<const Bits> values, const State& before) const;
  Expected<ExactElement> finish(std::span<const Bits> once, const State& behind, int bits) const;

 private:
  ProductTerms terms_;
};

// The same at once. values: of all chunks' needs one after the other, then of once.
Expected<ExactElement> exact_element(const LoggedProduct& product, std::span<const Bits> values, int bits);

}  // namespace isobit::judge
