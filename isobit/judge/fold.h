// The sums, extremes and products of kernels/reduce/reduce.h one term at a time, as the references have them: a state
// that takes terms in order and can be stopped and gone on with. What is exact (every sum of floats) has an exact
// state, so that any way of adding gives the same; the rest has the running values of its written order.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/numerics/exact_accumulator.h"
#include "isobit/runtime/element_formula.h"

namespace isobit::judge {

// T: float, double and every integer.
template <class T>
class FoldState {
 public:
  // mean: what a variance of doubles is around.
  explicit FoldState(runtime::Fold fold, T mean = T(0));

  void add(T term);
  int64_t count() const { return count_; }
  // What the terms so far make. REQUIRES a fold that gives a number; a mean or a variance of one term at least.
  T value() const;
  // Of kFirstPlace: the number of the term; -1 where there are none.
  int64_t place() const { return place_; }

  // All that it holds, and nothing else: equal states have equal words. How many there are follows from T and the fold.
  std::vector<uint64_t> words() const;
  // False: these are no words of such a state, which stays what it was.
  bool restore(const std::vector<uint64_t>& words);

 private:
  void begin();
  bool is_exact() const;
  void add_ordered(T x);

  runtime::Fold fold_;
  T mean_;
  numerics::ExactAccumulator sum_, squares_;  // of floats
  T total_ = T(0), chunk_ = T(0);             // of doubles; the running value of what is no sum
  int64_t count_ = 0, filled_ = 0, place_ = -1;
};

extern template class FoldState<float>;
extern template class FoldState<double>;

}  // namespace isobit::judge
