// Rounding float64 to a float32 with fewer significant bits. Exact integer arithmetic, the same on every machine.
//
// A b-bit value (22 <= b <= 32) is a float32 whose last 32 - b significand bits are zero, held in float64: 32 is plain
// float32. Source: b_r of M. Srivastava, S. Arora and D. Boneh, Optimistic verifiable training by controlling hardware
// nondeterminism, NeurIPS 2024, section 5.
#pragma once

#include <cstdint>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::rounding {

inline constexpr int kLeastBits = 22;
inline constexpr int kMostBits = 32;

// The nearest b-bit value, ties to even, in one rounding. Zeros keep their sign, NaN is the one NaN, magnitudes from
// halfway between the largest b-bit value and 2^128 on are infinite.
ISOBIT_INLINE constexpr double round_to_bits(double x, int bits) {
  const uint64_t all = numerics::bits_of(x), magnitude = all & 0x7fffffffffffffffull, sign = all ^ magnitude;
  if (magnitude > 0x7ff0000000000000ull) return numerics::nan_f64();
  const int dropped = 32 - bits;
  if (magnitude < 0x3810000000000000ull) {  // below 2^-126 the spacing is that of subnormal float32 values
    const double shifter = numerics::f64_from_bits(uint64_t(0x3ff + 52 - 149 + dropped) << 52) * 1.5;
    const double rounded = (numerics::f64_from_bits(magnitude) + shifter) - shifter;
    return numerics::f64_from_bits(numerics::bits_of(rounded) | sign);
  }
  const int shift = 29 + dropped;
  uint64_t r = magnitude + ((uint64_t{1} << (shift - 1)) - 1) + ((magnitude >> shift) & 1);
  r &= ~((uint64_t{1} << shift) - 1);
  if (r >= 0x47f0000000000000ull) r = 0x7ff0000000000000ull;  // 2^128
  return numerics::f64_from_bits(r | sign);
}

// The distance to the next b-bit value away from zero. REQUIRES |x| finite, as a b-bit value or not.
ISOBIT_INLINE constexpr double spacing(double x, int bits) {
  const uint64_t exponent = (numerics::bits_of(x) >> 52) & 0x7ff;
  const uint64_t least = 0x3ff - 126;
  return numerics::f64_from_bits(((exponent < least ? least : exponent) - 23 + static_cast<uint64_t>(32 - bits)) << 52);
}

// The last kept significand bit of a b-bit value.
ISOBIT_INLINE constexpr int parity(double value, int bits) {
  const float narrow = static_cast<float>(value);
  return static_cast<int>(numerics::bits_of(narrow) >> (32 - bits) & 1);
}

}  // namespace isobit::kernels::rounding
