// e^x, log x, angles, sin and cos in pairs, of which the functions in functions_impl_*.h are made. kPairs says how many
// coefficients of a polynomial are taken to 106 bits: those named below leave a relative error below 2^-66, and the
// ones of pow about 2^-101.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_coefficients_pair.h"
#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_impl_pair.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

constexpr int kExpPairs = 4, kLogPairs = 2, kAtanPairs = 3, kSinPairs = 3, kCosPairs = 2;

// 2^k for a whole k, -1022 <= k <= 1023.
ISOBIT_INLINE double power_of_two(double k) { return from_bits64(to_bits(1.0) + (to_bits(k + kMagic) << 52)); }

// a * 2^k for a whole k, |k| <= 2044, in two factors, each normal.
ISOBIT_INLINE Pair scaled_by_power(Pair a, double k) {
  const double half = (k * 0.5 + kMagic) - kMagic;
  return scaled(scaled(a, power_of_two(half)), power_of_two(k - half));
}

// x = k ln 2 + rest, |rest| <= ln2 / 2 (a little over); REQUIRES: |x| <= 1400. The products with both parts of ln 2 are
// exact, and so is the first difference (as in exp_core).
struct ReducedExponent {
  Pair rest;
  double k;
};
ISOBIT_INLINE ReducedExponent reduce_exponent(Pair x) {
  const double k = (x.high * kInverseLn2 + kMagic) - kMagic;
  const Pair first = two_sum(x.high - k * kLn2High, -(k * kLn2Middle));
  return {ordered_sum(first.high, first.low + (x.low - k * kLn2Rest)), k};
}

// e^r - 1 for |r| <= ln2 / 2.
template <int kPairs = kExpPairs>
ISOBIT_INLINE Pair expm1_pair(Pair r) {
  return add_smaller(r, multiply(multiply(r, r), polynomial_pair<kPairs>(kExpPair, r)));
}

// log(2^shift y) for a positive normal y, given w = y - 1 as well: near 1 it has digits that y has not. With
// y = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt 2 and s = f / (2 + f): log(1 + f) = 2 s + s^3 P(s^2).
template <int kPairs = kLogPairs>
ISOBIT_INLINE Pair log_pair(Pair y, Pair w, double shift) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdull;
  constexpr uint64_t kExponentMask = 0xfff0000000000000ull;
  const uint64_t distance = to_bits(y.high) - kSqrtHalf;  // its top 12 bits are e, as in log_core
  const uint64_t biased = (distance + (uint64_t{1024} << 52)) >> 52;
  const double e = from_bits64(biased | 0x4330000000000000ull) - (0x1p52 + 1024);
  const double high = from_bits64(to_bits(y.high) - (distance & kExponentMask)) - 1;
  const Pair f = choose(e == 0, w, ordered_sum(high, scaled_by_power({y.low, 0}, -e).high));
  const Pair s = divide(f, add(f, 2.0));
  const Pair z = multiply(s, s);
  const Pair logarithm = add_smaller(scaled(s, 2), multiply(multiply(s, z), polynomial_pair<kPairs>(kLogPair, z)));
  const double k = e + shift;
  const Pair base = ordered_sum(k * kLn2High, k * kLn2Middle);  // exact
  return add(ordered_sum(base.high, base.low + k * kLn2Rest), logarithm);
}

// log(1 + w) for w > -1.
ISOBIT_INLINE Pair log1p_pair(Pair w) { return log_pair(add(w, 1.0), w, 0); }

// The angle of the point (along, across) of the first quadrant, atan(across / along), in [0, pi/2]. REQUIRES: neither
// negative, not both 0, magnitudes between 2^-150 and 2^200, or zero. The quotient q <= 1 of the two is turned back by
// the angle of 0, 1/2 or 1, whichever is near: atan q = atan c + atan((q - c) / (1 + c q)).
ISOBIT_INLINE Pair angle_pair(Pair across, Pair along) {
  const bool steep = across.high > along.high;
  const Pair n = choose(steep, along, across);
  const Pair d = choose(steep, across, along);
  const double q = n.high / d.high;
  const double c = q < 0.2385 ? 0.0 : (q < 0.75 ? 0.5 : 1.0);
  const Pair t = divide(add(n, scaled(d, -c)), add(d, scaled(n, c)));
  const Pair z = multiply(t, t);
  const Pair arc = add_smaller(t, multiply(multiply(t, z), polynomial_pair<kAtanPairs>(kAtanPair, z)));
  const Pair turned = choose(q < 0.2385, {0, 0}, choose(q < 0.75, kAtanHalf, kQuarterPi));
  return choose(steep, add(add(kHalfPi, negated(turned)), negated(arc)), add(turned, arc));
}

// sin r and cos r for |r| <= pi/4.
ISOBIT_INLINE Pair sin_pair(Pair r) {
  const Pair z = multiply(r, r);
  return add_smaller(r, multiply(multiply(r, z), polynomial_pair<kSinPairs>(kSinPair, z)));
}
ISOBIT_INLINE Pair cos_pair(Pair r) {
  const Pair z = multiply(r, r);
  const Pair rest = add(scaled(z, -0.5), multiply(multiply(z, z), polynomial_pair<kCosPairs>(kCosPair, z)));
  return add(rest, 1.0);
}

}  // namespace isobit::numerics::impl
