// Does the tree compute what the kernel computes? Sums of random numbers of many sizes, compared bit by bit.
//
// The counts behind a tree cannot tell plain additions from compensated ones, nor float32 accumulators from float64
// ones: this can.
#pragma once

#include <string>

#include "isobit/lab/reveal/evaluate.h"

namespace isobit::lab::reveal {

struct Confirmation {
  int64_t sums = 0;     // of random terms: 64 or a little more, so that every one of at_once() places is asked
  int64_t plain = 0;    // equal to the tree's, each addition rounded to the format
  int64_t wide = 0;     // equal to the tree's in float64, rounded once
  int64_t correct = 0;  // equal to the correctly rounded sum
  bool repeats = true;  // every sum came out the same a second time
  // SHA-256 of the bits of sums of terms that depend on seed, K and format alone; of an inner product also of as many
  // with random weights. Kernels with equal digests most likely compute the same; with other digests they do not.
  commit::Digest bits = {};

  bool all(int64_t count) const { return sums > 0 && count == sums; }
  // In words: "additions rounded to float32", "float64 accumulators, rounded once", ...
  std::string words(Format format) const;
};

// Weights are 1 afterwards. tree: null where there is none; plain and wide are 0 then.
Expected<Confirmation> confirm(Summation& summation, const SumTree* tree, uint64_t seed = 1);

}  // namespace isobit::lab::reveal
