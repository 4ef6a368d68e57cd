// Sums of squares of float32: a bound in float64 first, integers where that cannot tell.
#pragma once

#include <span>

#include "isobit/kernels/reduce/table.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {

// The float32 nearest to the exact sum of the exact squares of all segments, as global_sum_of_squares in reduce.h.
// REQUIRES strides of 1.
inline float sum_of_squares_of(const reduce::Table& isa, std::span<const numerics::StridedSegment> segments) {
  double sum = 0, error = 0;
  for (const numerics::StridedSegment& s : segments) {
    double part, part_error;
    isa.sum_of_squares(s.data, s.count, &part, &part_error);
    sum += part;
    error += part_error;
  }
  error += sum * static_cast<double>(segments.size() + 4) * 0x1p-51;
  const float low = static_cast<float>(sum - error), high = static_cast<float>(sum + error);
  if (low == high) return low;  // a zero here is +0: no term is negative
  return numerics::sum_of_squares_exactly(segments.data(), static_cast<int64_t>(segments.size()));
}

}  // namespace isobit::kernels
