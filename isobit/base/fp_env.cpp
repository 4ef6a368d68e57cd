#include "isobit/base/fp_env.h"

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "isobit/base/scratch.h"
#include "isobit/base/text.h"
#include "isobit/base/thread_pool.h"

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

std::string fp_environment_fault() {
  if (fp_environment_is_standard()) return "";
  volatile float one = 1.0f, tiny = FLT_EPSILON / 8, smallest = FLT_TRUE_MIN, min_normal = FLT_MIN;
  volatile float large = 0x1p100f, above = one + tiny, below = one - tiny, product = smallest * large,
                 half = min_normal * 0.5f;
  std::string fault;
  const auto add = [&](const char* what) { fault += text_of(fault.empty() ? "" : ", ", what); };
  if (above > 1.0f) add("results are rounded upwards");
  if (below < 1.0f && above == 1.0f) {
    volatile float negative = -one - tiny;
    add(negative < -1.0f ? "results are rounded downwards" : "results are rounded towards zero");
  }
  if (product == 0.0f) add("subnormal operands are taken as zero");
  // By its bits: a comparison may take a subnormal operand as zero as well.
  const float stored = half;
  if (__builtin_bit_cast(uint32_t, stored) == 0) add("subnormal results are flushed to zero");
  return fault.empty() ? "float32 results are fine, but float64 ones are not" : fault;
}

Status check_fp_environment(ThreadPool& pool) {
  ScratchVector<std::string> faults(static_cast<size_t>(pool.threads()));
  pool.on_every_thread([&](int thread) { faults[static_cast<size_t>(thread)] = fp_environment_fault(); });
  std::string all;
  for (size_t i = 0; i < faults.size(); ++i) {
    if (faults[i].empty()) continue;
    all += text_of(all.empty() ? "" : "; ", i == 0 ? "the calling thread" : text_of("thread ", i + 1), " of ",
                   faults.size(), ": ", faults[i]);
  }
  if (all.empty()) return {};
  return unavailable(text_of("the floating-point environment is not that of IEEE 754's defaults (", all,
                             "): something in this process has changed it, and what it computes cannot be used; run "
                             "without what changes it"));
}

}  // namespace isobit
