#include "isobit/kernels/pool/primitives.h"

namespace isobit::kernels {

const PoolPrimitives& pool_primitives(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return avx2::kPoolPrimitives;
    case Isa::kAvx512:
      return avx512::kPoolPrimitives;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return neon::kPoolPrimitives;
#endif
    default:
      return portable::kPoolPrimitives;
  }
}

}  // namespace isobit::kernels
