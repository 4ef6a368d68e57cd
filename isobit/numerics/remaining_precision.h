// How much of a number two computations agree on, by its bits. Everything here is exact, constexpr and the same on
// every machine; nothing has external linkage, so that translation units with ISA flags may include it.
//
// Source of remaining precision: A. Schlögl, N. Hofer, R. Böhme, Causes and effects of unanticipated numerical
// deviations in neural network inference frameworks, NeurIPS 2023. (The helper published with it returns the
// complement.)
#pragma once

#include <bit>
#include <cstdint>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics {

// An IEEE 754 binary interchange format, or bfloat16: a sign, then the exponent, then the significand's stored bits.
struct FloatFormat {
  int exponent_bits;
  int significand_bits;  // p of the remaining precision: without the leading bit that is not stored
  constexpr bool operator==(const FloatFormat&) const = default;
};
constexpr FloatFormat kFloat16Format = {5, 10};
constexpr FloatFormat kBfloat16Format = {8, 7};
constexpr FloatFormat kFloat32Format = {8, 23};
constexpr FloatFormat kFloat64Format = {11, 52};

ISOBIT_INLINE constexpr uint64_t significand_of(uint64_t bits, FloatFormat f) {
  return bits & ((uint64_t{1} << f.significand_bits) - 1);
}
ISOBIT_INLINE constexpr uint64_t exponent_of(uint64_t bits, FloatFormat f) {
  return bits >> f.significand_bits & ((uint64_t{1} << f.exponent_bits) - 1);
}
ISOBIT_INLINE constexpr bool is_nan(uint64_t bits, FloatFormat f) {
  return exponent_of(bits, f) == (uint64_t{1} << f.exponent_bits) - 1 && significand_of(bits, f) != 0;
}
// Everything but the sign.
ISOBIT_INLINE constexpr uint64_t magnitude_of(uint64_t bits, FloatFormat f) {
  return bits & ((uint64_t{1} << (f.significand_bits + f.exponent_bits)) - 1);
}

// The number of leading stored bits of the significand that agree, where sign and exponent agree: 0 to p, p for equal
// bits; 0 where sign or exponent differs. Besides:
//   two NaNs                  p, whatever their payloads: neither says a number
//   a NaN and a number        0
//   infinities                p for the same one; 0 against the other or a number
//   the two zeros             p: they are one number, as in ulp_distance
// Equivalence classes compare all bits, so that they tell apart what is alike here.
// REQUIRES bits of that format, the others 0.
ISOBIT_INLINE constexpr int remaining_precision(uint64_t a, uint64_t b, FloatFormat f) {
  const bool a_nan = is_nan(a, f), b_nan = is_nan(b, f);
  if (a_nan || b_nan) return a_nan && b_nan ? f.significand_bits : 0;
  if (magnitude_of(a | b, f) == 0) return f.significand_bits;
  if (a >> f.significand_bits != b >> f.significand_bits) return 0;
  return f.significand_bits - std::bit_width(significand_of(a ^ b, f));
}
ISOBIT_INLINE constexpr int remaining_precision(float a, float b) {
  return remaining_precision(uint64_t{bits_of(a)}, uint64_t{bits_of(b)}, kFloat32Format);
}
ISOBIT_INLINE constexpr int remaining_precision(double a, double b) {
  return remaining_precision(bits_of(a), bits_of(b), kFloat64Format);
}

// As ulp_distance of bits.h, for any format: 0 for equal numbers, the two zeros and two NaNs; UINT64_MAX for a NaN and
// a number; infinity one step beyond the largest finite number.
ISOBIT_INLINE constexpr uint64_t ulp_distance(uint64_t a, uint64_t b, FloatFormat f) {
  const bool a_nan = is_nan(a, f), b_nan = is_nan(b, f);
  if (a_nan || b_nan) return a_nan && b_nan ? 0 : UINT64_MAX;
  const uint64_t i = magnitude_of(a, f), j = magnitude_of(b, f);
  if (magnitude_of(a, f) == a && magnitude_of(b, f) == b) return i < j ? j - i : i - j;
  if (magnitude_of(a, f) != a && magnitude_of(b, f) != b) return i < j ? j - i : i - j;
  return i + j;
}

}  // namespace isobit::numerics
