#include "isobit/kernels/softmax/primitives.h"

namespace isobit::kernels {

const SoftmaxPrimitives& softmax_primitives(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return avx2::kSoftmaxPrimitives;
    case Isa::kAvx512:
      return avx512::kSoftmaxPrimitives;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return neon::kSoftmaxPrimitives;
#endif
    default:
      return portable::kSoftmaxPrimitives;
  }
}

}  // namespace isobit::kernels
