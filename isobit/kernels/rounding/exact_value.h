// Single outputs of an inner product evaluated exactly: what a published value is judged by, and what an output is
// where no log decides it.
//
// The exact value z of an output is the sum of its products and its bias without any rounding, from operands that all
// parties share. Everything here is a pure function of the operands: the same to the bit on every machine. REQUIRES
// operands and biases that are float32 values, and k <= kMostTerms.
#pragma once

#include <array>
#include <climits>
#include <vector>

#include "isobit/kernels/rounding/near_ties.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::rounding {

// The longest sum that is evaluated, and that a graph under logged-1 may have (check_terms of inner_product.h); the
// surplus of all widths (near_ties.h) covers what z is off by up to here.
inline constexpr int64_t kMostTerms = int64_t{1} << 26;

// z as an unevaluated sum of two float64 values, high the float64 nearest to the whole. The products are exact and
// their sum is compensated once, so it is off by less than ((k + 16) 2^-53)^2 of the magnitude: about 2^-95 where
// k is 30, 2^-74 where it is 65,536. Where a term is infinite or NaN, high is what every order of additions gives, and
// low is 0.
struct ExactValue {
  double high = 0, low = 0;
};
ExactValue evaluate_exactly(const ProductBlock& block, int64_t i, int64_t j);

// An output of this platform beside what it should be.
struct ExactOutput {
  NearTie at;  // with its value, not rounded, and its magnitude
  ExactValue z;
  double rounded = 0;  // z rounded to the bits kept, once: +0 for every zero

  // How far the platform's own value lies from z, in units of 2^-53 times the magnitude; 0 where they are alike, NaN
  // included, and infinity where only one of them is finite.
  double error() const;
};

// The same of one output whose terms come one by one, element 0 of its lines first: for who has the terms and no block,
// or not all of them at once. Everything that it holds is what the terms so far say.
struct OutputSum {
  static constexpr int64_t kLanes = 8;
  int64_t count = 0;
  std::array<double, kLanes> high = {}, low = {}, magnitude = {};  // term l in lane l % 8
  int quantum = INT_MAX;                                           // all terms are multiples of 2 to this
  numerics::ExactAccumulator sum;

  void add(double a, double b);
  // As evaluate_outputs, of an output whose own value is not known; REQUIRES that all k terms have come.
  ExactOutput output(double bias, int bits) const;
  // As adds_exactly of a block.
  bool adds_exactly(double bias, double magnitude_of_output) const;
};

// Evaluates the outputs at `places`, whose values must not have been rounded yet. Their magnitudes need not be set.
std::vector<ExactOutput> evaluate_outputs(const KernelContext& ctx, const std::vector<ProductBlock>& blocks,
                                          const std::vector<NearTie>& places, int bits);

// Whether no addition of the output's terms can round, in whatever order: all of them are multiples of 2^q, and their
// magnitudes add up to no more than 2^(q + 53). Then every platform's value is z itself. `magnitude`: of the output.
bool adds_exactly(const ProductBlock& block, int64_t i, int64_t j, double magnitude);

// high + low rounded to `bits` in one rounding; zeros keep their sign. REQUIRES high the float64 nearest to the sum.
double round_sum(double high, double low, int bits);

// Candidates around z: what z +- width * magnitude rounds to. The low part is far below the width's surplus.
Candidates candidates(const ExactValue& z, double width, double magnitude, int bits);

}  // namespace isobit::kernels::rounding
