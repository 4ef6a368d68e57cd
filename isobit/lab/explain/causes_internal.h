// What causes.cpp and causes_words.cpp share.
#pragma once

#include "isobit/lab/explain/causes.h"

namespace isobit::lab::explain {

// What is told of a kernel's arithmetic, without that subnormal numbers are kept, which goes without saying.
std::vector<std::string> findings_of(const KernelTree& tree);
// Normal numbers, in the same order and with the same rounding: what becomes of subnormal ones need not show.
bool adds_alike(const KernelTree& a, const KernelTree& b);

using Pair = std::pair<size_t, size_t>;  // platforms of two trees, in their order

// Where what kernels answer and what was recorded do not fit, over platforms that had the same inputs.
struct Contradictions {
  std::vector<Pair> same_bits;   // which add in different ways
  std::vector<Pair> same_order;  // and were recorded with different bits
  size_t compared = 0;           // kernels that differ in bits or in their order
};

// REQUIRES causes.first.
Contradictions contradictions_of(const Explanation& explanation, const Causes& causes);

}  // namespace isobit::lab::explain
