// Floating-point numbers as bits: conversions, the one NaN, neighbours, distance in ulps.
// Everything here is exact, constexpr and the same on every machine; nothing has external linkage, so that translation
// units with ISA flags may include it.
#pragma once

#include <cstdint>

#include "isobit/numerics/inline.h"

namespace isobit::numerics {

constexpr uint32_t kNanBitsF32 = 0x7fc00000u;
constexpr uint64_t kNanBitsF64 = 0x7ff8000000000000ull;

ISOBIT_INLINE constexpr uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
ISOBIT_INLINE constexpr uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
ISOBIT_INLINE constexpr float f32_from_bits(uint32_t b) { return __builtin_bit_cast(float, b); }
ISOBIT_INLINE constexpr double f64_from_bits(uint64_t b) { return __builtin_bit_cast(double, b); }

ISOBIT_INLINE constexpr float nan_f32() { return f32_from_bits(kNanBitsF32); }
ISOBIT_INLINE constexpr double nan_f64() { return f64_from_bits(kNanBitsF64); }

ISOBIT_INLINE constexpr bool is_nan(float x) { return (bits_of(x) & 0x7fffffffu) > 0x7f800000u; }
ISOBIT_INLINE constexpr bool is_nan(double x) { return (bits_of(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull; }
ISOBIT_INLINE constexpr bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }
ISOBIT_INLINE constexpr bool is_finite(double x) {
  return (bits_of(x) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull;
}

// x, but any NaN becomes the one NaN (0x7fc00000, 0x7ff8000000000000). Every result that reaches a tensor passes
// through this: which payload and sign a NaN has differs between instruction sets.
ISOBIT_INLINE constexpr float canonical(float x) { return x == x ? x : nan_f32(); }
ISOBIT_INLINE constexpr double canonical(double x) { return x == x ? x : nan_f64(); }

// The numbers in order as consecutive integers: -inf .. -0, +0 .. +inf. REQUIRES: not NaN.
// -0 maps to -1 and +0 to 0, so that every bit pattern has its own place.
ISOBIT_INLINE constexpr int64_t ordinal(float x) {
  const uint32_t b = bits_of(x);
  return b >> 31 ? -1 - static_cast<int64_t>(b & 0x7fffffffu) : static_cast<int64_t>(b);
}
ISOBIT_INLINE constexpr int64_t ordinal(double x) {
  const uint64_t b = bits_of(x);
  return b >> 63 ? -1 - static_cast<int64_t>(b & 0x7fffffffffffffffull) : static_cast<int64_t>(b);
}

// How many representable numbers lie between a and b, counting b: 0 for equal values; the two zeros are one number.
// Infinity is one step beyond the largest finite number. Two NaNs: 0; a NaN and a number: UINT64_MAX.
ISOBIT_INLINE constexpr uint64_t ulp_distance(float a, float b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && is_nan(b) ? 0 : UINT64_MAX;
  const int64_t i = bits_of(a) >> 31 ? ordinal(a) + 1 : ordinal(a);
  const int64_t j = bits_of(b) >> 31 ? ordinal(b) + 1 : ordinal(b);
  return i < j ? static_cast<uint64_t>(j) - static_cast<uint64_t>(i)
               : static_cast<uint64_t>(i) - static_cast<uint64_t>(j);
}
ISOBIT_INLINE constexpr uint64_t ulp_distance(double a, double b) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && is_nan(b) ? 0 : UINT64_MAX;
  const int64_t i = bits_of(a) >> 63 ? ordinal(a) + 1 : ordinal(a);
  const int64_t j = bits_of(b) >> 63 ? ordinal(b) + 1 : ordinal(b);
  return i < j ? static_cast<uint64_t>(j) - static_cast<uint64_t>(i)
               : static_cast<uint64_t>(i) - static_cast<uint64_t>(j);
}

// The smallest number above x. next of either zero is the smallest subnormal; of +inf and NaN, x itself; of -inf, -max.
ISOBIT_INLINE constexpr float next_up(float x) {
  const uint32_t b = bits_of(x);
  if (is_nan(x) || b == 0x7f800000u) return x;
  if (x == 0) return f32_from_bits(1);
  return f32_from_bits(b >> 31 ? b - 1 : b + 1);
}
ISOBIT_INLINE constexpr double next_up(double x) {
  const uint64_t b = bits_of(x);
  if (is_nan(x) || b == 0x7ff0000000000000ull) return x;
  if (x == 0) return f64_from_bits(1);
  return f64_from_bits(b >> 63 ? b - 1 : b + 1);
}
// The largest number below x.
ISOBIT_INLINE constexpr float next_down(float x) { return -next_up(-x); }
ISOBIT_INLINE constexpr double next_down(double x) { return -next_up(-x); }

}  // namespace isobit::numerics
