// Floating-point environments that a host, or a library of it, may leave behind.
#pragma once

#include <cfenv>
#include <string>
#include <vector>

#include "isobit/base/fp_env.h"

namespace isobit::testing {

struct FpDisturbance {
  std::string what;  // in the words of fp_environment_fault()
  void (*set)();     // on the calling thread; pin_fp_environment() puts it right
};

inline std::vector<FpDisturbance> fp_disturbances() {
  std::vector<FpDisturbance> all = {
      {"results are rounded upwards", [] { std::fesetround(FE_UPWARD); }},
      {"results are rounded downwards", [] { std::fesetround(FE_DOWNWARD); }},
      {"results are rounded towards zero", [] { std::fesetround(FE_TOWARDZERO); }},
  };
#if defined(__x86_64__)
  all.push_back({"subnormal results are flushed to zero", [] { __builtin_ia32_ldmxcsr(0x1F80 | 0x8000); }});
  all.push_back({"subnormal operands are taken as zero", [] { __builtin_ia32_ldmxcsr(0x1F80 | 0x0040); }});
#elif defined(__aarch64__)
  all.push_back({"subnormal results are flushed to zero", [] {
                   const unsigned long flush = 1ul << 24;
                   asm volatile("msr fpcr, %0" : : "r"(flush));
                 }});
#endif
  return all;
}

}  // namespace isobit::testing
