// Fused multiply-add with one rounding on every machine.
//
// fma_f32 is the hardware instruction where the translation unit's target has one; elsewhere it is emulated exactly, in
// code that vectorises with SSE2. Both give the same bits in every case, subnormals and signed zeros included; only the
// payload of a NaN may differ, so whoever stores a result passes it through canonical().
//
// Safe to include in translation units with ISA flags: nothing here has external linkage.
#pragma once

#include <cstdint>

#include "isobit/numerics/inline.h"

#if defined(__FMA__) || defined(__aarch64__) || (defined(__riscv) && defined(__riscv_flen) && __riscv_flen >= 64)
#define ISOBIT_HARDWARE_FMA 1
#else
#define ISOBIT_HARDWARE_FMA 0
#endif

namespace isobit::numerics {

// The emulation, always compiled so that it can be tested beside the hardware.
//
// a * b is exact in float64 (48 bits, exponents -298 .. 256). The sum with c is rounded to odd: truncated, and its last
// bit set when anything was cut off. 53 >= 24 + 2, so narrowing a number rounded to odd is the correct rounding of the
// exact one (Boldo and Melquiond 2008), to subnormals too. The error of the sum comes from Knuth's TwoSum.
ISOBIT_INLINE float fma_f32_emulated(float a, float b, float c) {
  const double p = static_cast<double>(a) * static_cast<double>(b);
  const double q = static_cast<double>(c);
  const double s = p + q;
  const double t = s - p;
  const double error = (p - (s - t)) + (q - t);
  // Non-finite s: error is NaN, both comparisons are false and s stays. No product below can under- or overflow.
  const bool inexact = error * error > 0;
  const bool rounded_away = error * s < 0;
  int64_t bits = __builtin_bit_cast(int64_t, s);
  bits -= rounded_away ? 1 : 0;
  bits |= inexact ? 1 : 0;
  return static_cast<float>(__builtin_bit_cast(double, bits));
}

// a * b + c, rounded once.
ISOBIT_INLINE float fma_f32(float a, float b, float c) {
#if ISOBIT_HARDWARE_FMA
  return __builtin_fmaf(a, b, c);
#else
  return fma_f32_emulated(a, b, c);
#endif
}

// Without hardware this is the C library's fma, which is exact but slow.
ISOBIT_INLINE double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }

}  // namespace isobit::numerics
