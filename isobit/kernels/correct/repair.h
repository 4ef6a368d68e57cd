// The outputs that the filter left undecided, one by one. Internal.
//
// First a closer look at the bound, which does not evaluate the sum again. Let t be the number of its nonzero terms, a
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
// Where that does not decide either, the sum is evaluated again: special values, doubled-precision sum, exact
// accumulator.
#pragma once

#include <vector>

#include "isobit/kernels/correct/engine.h"

namespace isobit::kernels::correct {

struct Undecided {
  int64_t i, j;
  double x;  // the float64 approximation, bias included
};

struct Norms {
  const double* rows;     // of lines first_row ...
  const double* columns;  // of lines first_column ...
  int64_t first_row, first_column;
};

// Writes the outputs named by `items` and counts them; reorders items. Columns are packed a few at a time and spread
// over the threads of the pool.
void repair(const CorrectContext& ctx, const Problem& problem, const Norms& norms, std::vector<Undecided>& items,
            Statistics& statistics);

}  // namespace isobit::kernels::correct
