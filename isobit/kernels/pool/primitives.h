// The float32 loops of pooling over one row of windows, one version per instruction set.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"
#include "isobit/kernels/pool/pool.h"

namespace isobit::kernels {

// Best so far of each window of a row, and where; float64 totals of each window of a row. Each of size ow.
struct PoolScratch {
  int32_t* key;
  int32_t* place;
  double* sum;
  double* size;
  float* g;
};

struct PoolPrimitives {
  // Row oh of one plane. REQUIRES ih * iw < 2^31.
  void (*max_row)(const PoolShape&, int64_t oh, const float* image, const PoolScratch&, float* dst, int64_t* indices);
  // Sum / divisor[ow]; undecided[ow] = 1 where only an exact addition can tell the Sum. Returns how many those are.
  int64_t (*average_row)(const PoolShape&, int64_t oh, const float* image, const float* divisor, const PoolScratch&,
                         float* dst, uint8_t* undecided);
  // Adds diff_dst / divisor of row oh to the image, in the order of the contract.
  void (*average_grad_row)(const PoolShape&, int64_t oh, const float* diff_dst, const float* divisor,
                           const PoolScratch&, float* image);
};

// REQUIRES isa is available and not kReference.
const PoolPrimitives& pool_primitives(Isa isa);

namespace portable {
extern const PoolPrimitives kPoolPrimitives;
}
namespace avx2 {
extern const PoolPrimitives kPoolPrimitives;
}
namespace avx512 {
extern const PoolPrimitives kPoolPrimitives;
}
namespace neon {
extern const PoolPrimitives kPoolPrimitives;
}

}  // namespace isobit::kernels
