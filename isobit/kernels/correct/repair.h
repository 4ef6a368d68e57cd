// The outputs that neither the filter nor the closer look (closer_look.h) has decided are evaluated again: special
// values, doubled-precision sum, exact accumulator. Internal.
#pragma once

#include <vector>

#include "isobit/kernels/correct/closer_look.h"

namespace isobit::kernels::correct {

// Writes the outputs named by `items` and counts them; reorders items. Columns are packed a few at a time and spread
// over the threads of the pool.
void repair(const CorrectContext& ctx, const Problem& problem, const Side& left, const Side& right,
            std::vector<Undecided>& items, Statistics& statistics);

}  // namespace isobit::kernels::correct
