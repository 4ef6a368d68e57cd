#include "isobit/kernels/norm/primitives.h"

namespace isobit::kernels {

const NormPrimitives& norm_primitives(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return avx2::kNormPrimitives;
    case Isa::kAvx512:
      return avx512::kNormPrimitives;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return neon::kNormPrimitives;
#endif
    default:
      return portable::kNormPrimitives;
  }
}

}  // namespace isobit::kernels
