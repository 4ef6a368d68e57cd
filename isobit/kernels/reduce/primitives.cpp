#include "isobit/kernels/reduce/primitives.h"

namespace isobit::kernels {

const ReducePrimitives& reduce_primitives(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return avx2::kReducePrimitives;
    case Isa::kAvx512:
      return avx512::kReducePrimitives;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return neon::kReducePrimitives;
#endif
    default:
      return portable::kReducePrimitives;
  }
}

}  // namespace isobit::kernels
