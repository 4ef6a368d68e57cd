// The outputs that neither the filter nor the closer look (closer_look.h) has decided are evaluated again: special
// values, doubled-precision sum, exact accumulator. Internal.
#pragma once

#include <vector>

#include "isobit/kernels/correct/closer_look.h"
#include "isobit/kernels/correct/watch.h"

namespace isobit::kernels::correct {

// Writes the outputs named by `items` and counts them; reorders items. Columns are packed a few at a time and spread
// over the threads of the pool. backing: kBounded leaves out the closer look. gamma: the filter's bound on |x - exact
// sum| per unit of magnitude (engine.h); outputs whose x is found further away are noted (watch.h), unless `breaches`
// is null.
void repair(const CorrectContext& ctx, const Matrices& problem, const LaidOut& left, const LaidOut& right,
            std::vector<Undecided>& items, Backing backing, double gamma, Breaches* breaches, Statistics& statistics);

}  // namespace isobit::kernels::correct
