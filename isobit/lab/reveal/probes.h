// What a kernel does with each addition and product: rounding, width, fusing, subnormal numbers, division.
#pragma once

#include <string>
#include <vector>

#include "isobit/lab/reveal/summation.h"
#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::reveal {

struct Probe {
  std::string name;      // "rounding", "accumulator", "products", "subnormal results", ...
  std::string finding;   // "to nearest even", "24 bits", ...
  std::string shown_by;  // what was computed, and what came out
};

// Of a sum with a tree. Each finding holds for the terms that were tried, which are named.
//
//   rounding           1 + 1.5u and its negative, 1 + u, (1 + 2u) + u; u the unit roundoff
//   accumulator        1 + 2^-b - 1 for growing b, where 1 and 2^-b meet first: its significand in bits
//   products           (1 + 2^-12)^2 - (1 + 2^-11) for up to 64 terms, each beside the term that it meets first: 2^-24
//                      where the product was not rounded before it was added (float64: 2^-27, 2^-26, 2^-54)
//   subnormal inputs   2^-127 + 2^-126 (float64: -1023, -1022)
//   subnormal results  1.5 * 2^-126 - 2^-126
//   subnormal products 2^-70 * 2^-70 (float64: 2^-530)
// Of inner products only: products, subnormal products. Weights are 1 afterwards.
Expected<std::vector<Probe>> probe_arithmetic(Summation& summation, const SumTree& tree);

// Of a mean of six terms: whether x / 6 is a division or x * (1/6).
Expected<Probe> probe_division(Summation& mean_of_six);

}  // namespace isobit::lab::reveal
