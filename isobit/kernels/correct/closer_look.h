// What the filter left undecided, but can be decided by what the terms have in common. Internal.
//
// It looks closer at the bound and does not evaluate the sum again. Let t be the number of its nonzero terms, a
// nonzero bias included: t is counted with masks of the nonzero elements of both lines.
//   - t = 0: the sum is +0 (the zero test).
//   - Adding zero rounds nothing, and every other addition turns two nonzero numbers into at most one. So at most t - 1
//     additions have rounded, whatever the order, grouping and slices: x is off by at most gamma_(t-1) times the sum of
//     magnitudes, and d = gamma_t * (1 + 2^-20) * (|row| * |column| + |bias|) covers the rounding of x +- d as well.
//   - t = 1: x is the sum itself. t = 2: one rounding of the sum itself, so that d = 2^-51 |x| will do.
//   - If all elements of one line are multiples of 2^e, those of the other of 2^f and the bias of 2^(e+f), then so is
//     every partial sum, of whatever order; and if the bound on the sum of magnitudes is at most 2^(e+f+53), every
//     partial sum fits in float64: nothing has been rounded and x is the sum itself. Such sums often lie exactly on a
//     tie, where no d > 0 decides: products with pixel values, small integers, powers of two. It is looked for where
//     x has at most 25 significant bits, as ties and zeros do.
#pragma once

#include <cmath>
#include <vector>

#include "isobit/kernels/correct/engine.h"

namespace isobit::kernels::correct {

// What may be believed of x.
enum class Backing {
  kClassical,  // it is a sum in float64: all of the above
  kBounded,    // it is within d of the exact sum, and no more: the zero test alone, which does not look at x
};

struct Undecided {
  int64_t i, j;
  double x;  // the float64 approximation, bias included
};

// One undecided output: its lines and what is known of them.
struct UndecidedSum {
  int64_t k = 0;
  const float* a = nullptr;  // null where the lines are not at hand
  const float* b = nullptr;
  float bias = 0;  // +0 for none: it changes no exact sum
  double norm_a = 0, norm_b = 0;

  double magnitude() const { return norm_a * norm_b + std::fabs(static_cast<double>(bias)); }
  bool finite() const { return std::isfinite(norm_a) && std::isfinite(norm_b) && std::isfinite(bias); }
};

// Without the lines.
UndecidedSum term_of(const Matrices& problem, const LaidOut& left, const LaidOut& right, const Undecided& item);

// These look at one sum of finite terms. `common`: how many products of elements are nonzero. False: still undecided.
bool settle_by_terms(const UndecidedSum& t, int64_t common, double x, Mutation mutation, Statistics& statistics,
                     float& out);
// grid_a, grid_b: e and f above.
bool has_few_bits(double x);
bool settle_by_grid(const UndecidedSum& t, int grid_a, int grid_b, double x, Mutation mutation, Statistics& statistics,
                    float& out);

int64_t common_bits(const uint64_t* a, const uint64_t* b, size_t words);

// Where many sums are zeros or ties, and all of both sides lies in float64: writes the outputs that this decides for
// the tile as a whole, and removes them from items. For speed only: repair would look at them one by one.
void look_closer(const CorrectContext& ctx, const Matrices& problem, const LaidOut& left, const LaidOut& right,
                 std::vector<Undecided>& items, Statistics& statistics);

}  // namespace isobit::kernels::correct
