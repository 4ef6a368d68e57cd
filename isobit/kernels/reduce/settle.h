// The second stage of a Sum that the float64 bound left open.
#pragma once

#include <cstdint>
#include <limits>

#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {

// Sum (reduce/reduce.h) of the segments. Sums of few terms are often exact in float64 and a tie between two float32
// values: that is seen here (lanes.h says how) before integers are resorted to.
inline float sum_settled(const numerics::StridedSegment* segments, int64_t count) {
  double sum = 0, size = 0;
  float least = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    const numerics::StridedSegment& s = segments[i];
    for (int64_t k = 0; k < s.count; ++k) {
      const float x = s.data[k * s.stride];
      const float magnitude = x < 0 ? -x : x;
      sum += static_cast<double>(x);
      size += static_cast<double>(magnitude);
      if (x != 0 && magnitude < least) least = magnitude;
    }
  }
  if (size < static_cast<double>(least) * 0x1p29) return static_cast<float>(sum);
  return numerics::sum_exactly(segments, count);
}
inline float sum_settled(const float* x, int64_t n) {
  const numerics::StridedSegment segment{x, n, 1};
  return sum_settled(&segment, 1);
}

}  // namespace isobit::kernels
