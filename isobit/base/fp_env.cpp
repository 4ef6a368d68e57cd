#include "isobit/base/fp_env.h"

#include <cfenv>
#include <cfloat>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace isobit {

void pin_fp_environment() {
  std::fesetround(FE_TONEAREST);
#if defined(__x86_64__)
  _mm_setcsr(0x1F80);  // all exceptions masked, round to nearest, FTZ and DAZ off
#elif defined(__aarch64__)
  unsigned long fpcr = 0;
  asm volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

bool fp_environment_is_standard() {
  volatile float one = 1.0f, half_ulp = FLT_EPSILON / 2, smallest = FLT_TRUE_MIN, min_normal = FLT_MIN;
  volatile float tie_down = one + half_ulp;                // ties to even: 1
  volatile float tie_up = (one + FLT_EPSILON) + half_ulp;  // ties to even: 1 + 2 eps
  volatile float negative = -one - half_ulp * 1.5f;        // nearest: -1 - eps
  volatile float subnormal_in = smallest * one;            // not DAZ
  volatile float subnormal_out = min_normal * 0.5f;        // not FTZ
  volatile double tiny = DBL_MIN, out = tiny * 0.25;
  return tie_down == 1.0f && tie_up == 1.0f + 2 * FLT_EPSILON && negative == -1.0f - FLT_EPSILON &&
         subnormal_in != 0.0f && subnormal_out != 0.0f && out != 0.0;
}

}  // namespace isobit
