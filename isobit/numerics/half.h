// The two 16-bit floating-point formats as values: kept, moved and converted, never computed with. Whoever computes
// widens, computes in float32 and rounds once.
//
// Everything here is exact or rounded to nearest even, constexpr and the same on every machine; nothing has external
// linkage. NaNs: widening and narrowing give the one NaN of the format (0x7fc00000; 0x7e00, 0x7fc0), whatever the
// payload was.
#pragma once

#include <cstdint>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics {

// IEEE 754 binary16: 1 sign, 5 exponent and 10 significand bits.
struct Float16 {
  uint16_t bits = 0;
};
// The upper half of a float32: 1 sign, 8 exponent and 7 significand bits.
struct Bfloat16 {
  uint16_t bits = 0;
};

constexpr uint16_t kNanBitsF16 = 0x7e00;
constexpr uint16_t kNanBitsBf16 = 0x7fc0;

ISOBIT_INLINE constexpr float widened(Bfloat16 x) { return canonical(f32_from_bits(uint32_t{x.bits} << 16)); }

ISOBIT_INLINE constexpr float widened(Float16 x) {
  const uint32_t sign = uint32_t{x.bits} >> 15 << 31, magnitude = x.bits & 0x7fffu;
  if (magnitude > 0x7c00) return nan_f32();
  if (magnitude == 0x7c00) return f32_from_bits(sign | 0x7f800000u);
  // A subnormal is a multiple of 2^-24, which float32 holds as it is.
  if (magnitude < 0x400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return f32_from_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

// The nearest of the format, ties to even; beyond the largest by half its last place or more, the infinity.
ISOBIT_INLINE constexpr Bfloat16 rounded_to_bfloat16(float x) {
  if (is_nan(x)) return {kNanBitsBf16};
  const uint32_t b = bits_of(x);
  return {static_cast<uint16_t>((b + 0x7fffu + (b >> 16 & 1)) >> 16)};
}

ISOBIT_INLINE constexpr Float16 rounded_to_float16(float x) {
  if (is_nan(x)) return {kNanBitsF16};
  const uint32_t b = bits_of(x), sign = b >> 31 << 15, magnitude = b & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // 65520 and more
  if (magnitude < 0x38800000u) {                                                 // below 2^-14: a multiple of 2^-24
    // Adding 1/2 leaves the last place at 2^-24, so that the sum is rounded as the result is to be.
    const float shifted = f32_from_bits(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (bits_of(shifted) - 0x3f000000u))};
  }
  const uint32_t rebased = magnitude - ((127u - 15u) << 23);
  return {static_cast<uint16_t>(sign | ((rebased + 0xfffu + (rebased >> 13 & 1)) >> 13))};
}

// From float64 in one rounding.
ISOBIT_INLINE constexpr float narrowed_to_odd(double x) {
  const float near = static_cast<float>(x);
  if (is_nan(x) || static_cast<double>(near) == x || bits_of(near) & 1) return near;
  // Not exact and even: the neighbour on the other side of x is odd. Rounding again to fewer bits is then right.
  const bool above = static_cast<double>(near) > x;
  return above ? next_down(near) : next_up(near);
}
ISOBIT_INLINE constexpr Float16 rounded_to_float16(double x) { return rounded_to_float16(narrowed_to_odd(x)); }
ISOBIT_INLINE constexpr Bfloat16 rounded_to_bfloat16(double x) { return rounded_to_bfloat16(narrowed_to_odd(x)); }

}  // namespace isobit::numerics
