// What a tree says the sum is.
#pragma once

#include <vector>

#include "isobit/lab/reveal/summation.h"
#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::reveal {

// How the additions of a tree round.
enum class Accumulator {
  kFormat,   // each addition to the format
  kFloat64,  // each addition to float64, the last result to the format
};

// The sum of terms[0 .. leaves) along the tree, each addition rounded to nearest even; a node of more than two operands
// adds them left to right in float64 and is rounded once, which is one of several things that fused operations do.
double evaluate(const SumTree& tree, Format format, Accumulator accumulator, const double* terms);

// The number of the format nearest to the exact sum (for float64: sums with errors carried along, which is exact for
// terms whose exponents are within 50 of one another and K <= kMostTerms).
double correctly_rounded_sum(Format format, int64_t n, const double* terms);

// The value rounded to the format.
double rounded_to(Format format, double value);

}  // namespace isobit::lab::reveal
