// Dropout whose mask is a pure function of (seed, step, node, element index): no mask is stored, and a referee can
// evaluate one element. Determinism class `ordered-1`.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

struct DropoutArgs {
  uint64_t seed = 0;  // of the job
  uint32_t step = 0;  // training step
  uint32_t node = 0;  // which dropout of the graph; below 2^22
  double p = 0;       // probability of dropping; 0 <= p < 1
  int64_t first = 0;  // the number of element 0: of a part of a batch, as many as lie before it in the whole one
};

// The 32 bits of element i are random_u32({seed, Purpose::kDropout, step}, node * 2^42 + first + i) of
// numerics/philox.h.
// The element is kept iff
//   bits >= ceil(p * 2^32)            (p * 2^32 is exact in binary64)
// and then dst[i] = src[i] * s with s = T(1.0 / (1.0 - p)), both operations in binary64, then one rounding to T; NaN is
// canonical. A dropped element is +0.
// The gradient is the same function of diff_dst.
// T: float, double. dst may be src. REQUIRES first >= 0, first + n <= 2^42.
template <class T>
void dropout(const KernelContext& ctx, const DropoutArgs& args, int64_t n, const T* src, T* dst);

}  // namespace isobit::kernels
