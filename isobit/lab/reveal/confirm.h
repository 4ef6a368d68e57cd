// Does the tree compute what the kernel computes? Sums of random numbers of many sizes, compared bit by bit.
//
// The counts behind a tree cannot tell plain additions from compensated ones, nor float32 accumulators from float64
// ones: this can.
#pragma once

#include <optional>

#include "isobit/lab/reveal/evaluate.h"

namespace isobit::lab::reveal {

struct Confirmation {
  int64_t sums = 0;     // of random terms, for each of at_once() places
  int64_t plain = 0;    // equal to the tree's, each addition rounded to the format
  int64_t wide = 0;     // equal to the tree's in float64, rounded once
  int64_t correct = 0;  // equal to the correctly rounded sum
  bool repeats = true;  // every sum came out the same a second time

  bool all(int64_t count) const { return sums > 0 && count == sums; }
  // In words: "additions rounded to float32", "float64 accumulators, rounded once", ...
  std::string words(Format format) const;
};

// tree: null where there is none; plain and wide are 0 then.
Expected<Confirmation> confirm(Summation& summation, const SumTree* tree, uint64_t seed = 1);

}  // namespace isobit::lab::reveal
