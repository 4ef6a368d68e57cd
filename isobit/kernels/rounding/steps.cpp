#include "isobit/kernels/rounding/steps.h"

namespace isobit::kernels::rounding {

const Steps& steps_of(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2:
      return avx2::kSteps;
    case Isa::kAvx512:
      return avx512::kSteps;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return neon::kSteps;
#endif
    default:
      return portable::kSteps;
  }
}

}  // namespace isobit::kernels::rounding
