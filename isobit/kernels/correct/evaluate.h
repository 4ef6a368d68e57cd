// One output computed anew from its two lines, more accurately than any filter needs. Internal.
#pragma once

#include "isobit/kernels/correct/closer_look.h"

namespace isobit::kernels::correct {

// Of finite terms.
struct EvaluatedSum {
  float value = 0;           // the float32 nearest to the exact sum
  Doubled sum = {0, 0};      // the sum in doubled precision, bias included
  double bound = 0;          // on the distance of `sum` from the exact sum
  bool accumulated = false;  // the doubled-precision sum left the rounding open: `value` is the exact accumulator's
};

// REQUIRES the lines of `t` at hand, t.finite(). magnitude: at least the sum of the magnitudes of its terms and bias.
EvaluatedSum evaluate(const Table& loops, const UndecidedSum& t, double magnitude, Mutation mutation);

// Of the sum in doubled precision: on its distance from the exact sum, `magnitude` as above.
double doubled_bound(int64_t k, double magnitude);

// Where a line or the bias holds an infinity or a NaN. REQUIRES the lines of `t` at hand.
float special_value(const UndecidedSum& t);

}  // namespace isobit::kernels::correct
