// The outputs that the filter left undecided, evaluated one by one: zero test, special values, doubled-precision sum,
// exact accumulator. Internal.
#pragma once

#include <vector>

#include "isobit/kernels/correct/engine.h"

namespace isobit::kernels::correct {

struct Undecided {
  int64_t i, j;
  bool maybe_empty;  // the float64 product gave zero: perhaps no term is nonzero
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
