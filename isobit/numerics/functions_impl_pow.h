// pow and fmod of functions_impl.h (included by it): scalar code that branches.
//
// cr_pow takes what is exact apart first, so that what remains is irrational or has more than 25 bits: then x^y is no
// float32 and no midpoint of two, and its place is decided by e^(y log x) with an error below 2^-93
// (docs/elementary-functions.md says how near to a midpoint powers may be expected to come).
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_impl_f64.h"
#include "isobit/numerics/functions_impl_pair.h"
#include "isobit/numerics/functions_impl_series.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

constexpr int kPowExpPairs = 13, kPowLogPairs = 9;

// Infinities count as whole and even.
ISOBIT_INLINE bool is_whole(double x) {
  const double a = magnitude(x);
  return a >= 0x1p52 || (a + 0x1p52) - 0x1p52 == a;
}
ISOBIT_INLINE bool is_odd(double x) { return is_whole(x) && !is_whole(x * 0.5); }

struct SettledPower {
  bool settled;
  double value;
};

// What C says of NaN, zeros and infinities, of pow(x, 0) and pow(1, y), and of negative x to fractions.
ISOBIT_INLINE SettledPower special_power(double x, double y) {
  if (x == 1 || y == 0) return {true, 1};
  if (x != x || y != y) return {true, nan64()};
  const double a = magnitude(x);
  const bool infinite_y = magnitude(y) == inf64();
  if (a != 0 && a != inf64() && !infinite_y) return {x < 0 && !is_whole(y), nan64()};
  if (a == 1) return {true, 1};
  const bool grows = (a > 1) == (y > 0);
  const double size = grows ? inf64() : 0.0;
  return {true, to_bits(x) >> 63 != 0 && is_odd(y) ? -size : size};
}

// a^y where that is a number of at most 25 bits, as every float32 and every midpoint of two is. REQUIRES: a is a
// positive finite float32, y a float32, a^y between 2^-152 and 2^130. With a = m 2^e, m odd: if m > 1, then y is
// positive, at most 15 (3^16 has more bits), and m a 2^q-th power where y has q binary places, q at most 3.
ISOBIT_INLINE SettledPower short_power(double a, double y) {
  const uint64_t significand = (to_bits(a) & 0xfffffffffffffull) | 0x10000000000000ull;
  const int zeros = __builtin_ctzll(significand);
  double root = static_cast<double>(significand >> zeros);
  const double e = static_cast<double>(static_cast<int>(to_bits(a) >> 52) - 1075 + zeros);
  const double exponent = e * y;  // exact: 9 bits times 24
  if (!is_whole(exponent)) return {false, 0};
  if (root == 1) return {true, power_of_two(exponent)};
  if (y < 0 || y > 15) return {false, 0};
  double times = y;
  while (!is_whole(times)) {
    const double s = __builtin_sqrt(root);
    if (!is_whole(s) || s * s != root) return {false, 0};  // within 3 rounds: 3^(2^4) has more bits than a
    root = s;
    times *= 2;
  }
  double product = 1;
  for (int i = 0; i < static_cast<int>(times); ++i) {
    product *= root;
    if (product >= 0x1p25) return {false, 0};
  }
  return {true, product * power_of_two(exponent)};
}

// (2^shift a)^y for a positive normal float64 a, as 2^k times a pair; cut off at e^800 and e^-800.
struct ScaledPower {
  Pair value;
  double k;
};
template <int kLog, int kExp>
ISOBIT_INLINE ScaledPower power_pair(double a, double shift, double y) {
  const Pair logarithm = log_pair<kLog>({a, 0}, two_sum(a, -1), shift);
  const Pair product = multiply(logarithm, y);
  const Pair low_bound = choose(product.high < -800, {-800, 0}, product);
  const ReducedExponent x = reduce_exponent(choose(product.high > 800, {800, 0}, low_bound));
  return {add(expm1_pair<kExp>(x.rest), 1.0), x.k};
}

// a^y for a positive finite a and a finite y. First in float64, with an error below 2^-44: y log a, at most 105 of what
// counts, has one below 2^-44.7. Where that leaves open which float32 it is: whether it is exact, and then by pairs.
ISOBIT_INLINE float power_of_magnitude(float magnitude_of_x, float exponent) {
  const double a = static_cast<double>(magnitude_of_x), y = static_cast<double>(exponent);
  if (y == 2) return static_cast<float>(a * a);
  if (y == 3) return narrowed(two_product(a * a, a));      // exact products:
  if (y == 4) return narrowed(two_product(a * a, a * a));  // 72 and 96 bits
  double v = y * log_core(a);
  v = v > 90 ? 90.0 : v;
  v = v < -105 ? -105.0 : v;
  const double estimate = exp_core(v, 0);
  const float low = static_cast<float>(estimate - estimate * 0x1p-43);
  const float high = static_cast<float>(estimate + estimate * 0x1p-43);
  if (to_bits(low) == to_bits(high)) return low;
  const SettledPower exact = short_power(a, y);
  if (exact.settled) return static_cast<float>(exact.value);
  const ScaledPower power = power_pair<kPowLogPairs, kPowExpPairs>(a, 0, y);
  return narrowed(scaled_by_power(power.value, power.k));
}

ISOBIT_INLINE float cr_pow(float x, float y) {
  const SettledPower special = special_power(static_cast<double>(x), static_cast<double>(y));
  if (special.settled) return special.value == special.value ? static_cast<float>(special.value) : nan32();
  const float power = power_of_magnitude(magnitude(x), y);
  return x < 0 && is_odd(static_cast<double>(y)) ? -power : power;
}

ISOBIT_INLINE double f64_pow(double x, double y) {
  const SettledPower special = special_power(x, y);
  if (special.settled) return special.value;
  const double a = magnitude(x);
  const bool subnormal = a < 0x1p-1022;
  // Beyond these bounds the power is 1, 0 or infinite whatever y is; within them products of pairs are in their range.
  const double size = magnitude(y);
  const double bounded = size > 0x1p80 ? 0x1p80 : (size < 0x1p-80 ? 0x1p-80 : size);
  const ScaledPower power =
      power_pair<kLogPairs, kExpPairs>(subnormal ? a * 0x1p54 : a, subnormal ? -54.0 : 0.0, with_sign_of(bounded, y));
  const double result = scaled_by_power(power.value, power.k).high;
  return x < 0 && is_odd(y) ? -result : result;
}

// Long division of the significands, at most 11 bits of the quotient at a time.
ISOBIT_INLINE double exact_fmod(double x, double y) {
  const double a = magnitude(x), b = magnitude(y);
  if (!(a < inf64()) || !(b > 0)) return nan64();
  if (a < b) return x;
  constexpr uint64_t kFraction = 0xfffffffffffffull;
  // Of subnormal numbers the exponent is that of the smallest normal ones, and there is no hidden bit.
  const int exponent_a = static_cast<int>(to_bits(a) >> 52), exponent_b = static_cast<int>(to_bits(b) >> 52);
  const uint64_t divisor = (to_bits(b) & kFraction) | (exponent_b == 0 ? 0 : kFraction + 1);
  uint64_t rest = (to_bits(a) & kFraction) | (exponent_a == 0 ? 0 : kFraction + 1);
  int steps = (exponent_a == 0 ? 1 : exponent_a) - (exponent_b == 0 ? 1 : exponent_b);
  rest %= divisor;
  for (; steps > 0 && rest != 0; steps -= 11) rest = (rest << (steps < 11 ? steps : 11)) % divisor;
  const double unit_exponent = static_cast<double>((exponent_b == 0 ? 1 : exponent_b) - 1075);
  return with_sign_of(scaled_by_power({static_cast<double>(rest), 0}, unit_exponent).high, x);
}

ISOBIT_INLINE float exact_fmod(float x, float y) {
  const double rest = exact_fmod(static_cast<double>(x), static_cast<double>(y));
  return rest == rest ? static_cast<float>(rest) : nan32();
}

}  // namespace isobit::numerics::impl
