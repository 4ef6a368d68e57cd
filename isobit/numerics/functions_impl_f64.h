// float64 functions of functions_impl.h (included by it): the same building blocks, with the roundings that a 53-bit
// argument brings carried along where they would be amplified.
#pragma once

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_impl_pair.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

ISOBIT_INLINE double f64_exp(double x) {
  double clamped = x > 710 ? 710.0 : x;
  clamped = clamped < -746 ? -746.0 : clamped;
  const double k = (clamped * kInverseLn2 + kMagic) - kMagic;
  const double r = (clamped - k * kLn2High) - k * kLn2Low;
  // 2^k in two factors, each normal, so that the ends of the range are reached with one rounding.
  const double shifted_half = k * 0.5 + kMagic;
  const double shifted_rest = (k - (shifted_half - kMagic)) + kMagic;
  const double first = from_bits64(to_bits(1.0) + (to_bits(shifted_half) << 52));
  const double second = from_bits64(to_bits(1.0) + (to_bits(shifted_rest) << 52));
  const double y = (1 + expm1_reduced(r)) * first * second;
  return x == x ? y : nan64();
}

// Between -0.34 and 40 directly, elsewhere e^x - 1.
ISOBIT_INLINE double f64_expm1(double x) {
  const double a = magnitude(x);
  const double near_zero = expm1_reduced(a < 0.34 ? x : 0.0);
  const double positive = expm1_core(x > 0 ? (x < 40 ? x : 40.0) : 0.0);
  double y = f64_exp(x) - 1;
  y = x > 0 && x < 40 ? positive : y;
  y = a < 0.34 ? near_zero : y;
  return x == 0 ? x : y;
}

ISOBIT_INLINE double f64_log(double x) {
  // A subnormal is scaled by 2^54 first.
  const bool subnormal = x < 0x1p-1022;
  const double y = log_core(subnormal ? x * 0x1p54 : x);
  double z = subnormal ? y - 54 * 0x1.62e42fefa39efp-1 : y;
  z = x == inf64() ? x : z;
  z = x == 0 ? -inf64() : z;
  return x >= 0 ? z : nan64();
}

ISOBIT_INLINE double f64_tanh(double x) {
  const double a = magnitude(x);
  const double u = expm1_core(2 * (a > 22 ? 22.0 : a));
  // Below 2^-30 the cubic term is lost, and a subnormal u / (u + 2) would round twice.
  const double y = with_sign_of(a < 0x1p-30 ? a : u / (u + 2), x);
  return x == x ? y : nan64();
}

// Phi(-x) for 0.84 <= x <= 39 from x and x^2 as a pair.
ISOBIT_INLINE double phi_tail_f64(double x, Pair square) {
  const double decay = exp_core(-0.5 * square.high, -0.5 * square.low);
  // exp_core stays in the normal range (x^2/2 <= 700, x <= 37.4); beyond, the rest is a second factor.
  return decay * (polynomial(kPhiTailWide, (x - 5) / (x + 5)) / (x + 1));
}

// Phi(-x), x >= 0.84; below the normal range it is still right to a few subnormal units.
ISOBIT_INLINE double phi_below(double x) {
  const double bounded = x > 39 ? 39.0 : x;
  const double reduced = bounded > 37 ? 37.0 : bounded;
  const double near = phi_tail_f64(reduced, two_product(reduced, reduced));
  const Pair square = two_product(bounded, bounded);
  const double far = exp_core(700 - 0.5 * square.high, -0.5 * square.low) * 0x1.14f2b0fb9307fp-1010 *
                     (polynomial(kPhiTailWide, (bounded - 5) / (bounded + 5)) / (bounded + 1));
  return bounded > 37 ? far : near;
}

// erfc x for x >= 0.6: 2 Phi(-x sqrt 2), with x^2 in place of the square of the rounded x sqrt 2.
ISOBIT_INLINE double erfc_tail(double x) {
  const double bounded = x > 27.5 ? 27.5 : x;
  const double reduced = bounded > 26 ? 26.0 : bounded;
  const Pair square = two_product(reduced, reduced);
  const double near = 2 * phi_tail_f64(reduced * 0x1.6a09e667f3bcdp+0, {2 * square.high, 2 * square.low});
  const double y = bounded * 0x1.6a09e667f3bcdp+0;
  const Pair wide = two_product(bounded, bounded);
  const double far = exp_core(700 - wide.high, -wide.low) * 0x1.14f2b0fb9307fp-1009 *
                     (polynomial(kPhiTailWide, (y - 5) / (y + 5)) / (y + 1));
  return bounded > 26 ? far : near;
}

ISOBIT_INLINE double f64_erf(double x) {
  const double a = magnitude(x);
  const double small = a < 0.6 ? a : 0.6;
  const double near = erf_small(small);
  const double far = 1 - erfc_tail(a > 6 ? 6.0 : (a < 0.6 ? 0.6 : a));
  const double y = with_sign_of(a < 0.6 ? near : far, x);
  return x == x ? y : nan64();
}

ISOBIT_INLINE double f64_erfc(double x) {
  const double a = magnitude(x);
  const double tail = erfc_tail(a < 0.6 ? 0.6 : a);
  const double near = 1 - with_sign_of(erf_small(a < 0.6 ? a : 0.6), x);
  const double y = a < 0.6 ? near : (x < 0 ? 2 - tail : tail);
  return x == x ? y : nan64();
}

ISOBIT_INLINE double f64_sqrt(double x) {
  const double y = __builtin_sqrt(x);
  return y == y ? y : nan64();
}

ISOBIT_INLINE double f64_rsqrt(double x) {
  const double y = 1 / __builtin_sqrt(x);
  return y == y ? y : nan64();
}

ISOBIT_INLINE double f64_sigmoid(double x) {
  const double e = f64_exp(-magnitude(x));
  const double y = x < 0 ? e / (1 + e) : 1 / (1 + e);
  return x == x ? y : nan64();
}

ISOBIT_INLINE double f64_gelu_erf(double x) {
  const double a = magnitude(x);
  const double tail = phi_below(a < 0.85 ? 0.85 : a);
  double phi = x < 0 ? tail : 1 - tail;
  phi = a < 0.85 ? phi_small(x) : phi;
  const double y = (x < -39 ? -39.0 : x) * phi;
  return x == x ? y : nan64();
}

ISOBIT_INLINE double f64_gelu_tanh(double x) {
  constexpr double kC1 = 0x1.9884533d43651p+0, kC1Low = -0x1.cbc0d30ebfd15p-54;
  constexpr double kC3 = 0x1.2444f2a4d8b4bp-4, kC3Low = -0x1.6c843a29d1c70p-61;
  double w = x > 21 ? 21.0 : x;
  w = w < -21 ? -21.0 : w;
  const double tiny = magnitude(w) < 0x1p-100 ? 0x1p-100 : w;  // keeps two_product in its range
  const Pair square = two_product(tiny, tiny);
  const Pair product = two_product(square.high, kC3);
  const double sum = kC1 + product.high;
  const double back = sum - kC1;
  const double sum_low = ((kC1 - (sum - back)) + (product.high - back)) +
                         (product.low + (square.low * kC3 + (square.high * kC3Low + kC1Low)));
  const Pair v = two_product(tiny, sum);
  const double v_low = v.low + tiny * sum_low;
  const double general = x / (1 + exp_core(-v.high, -v_low));
  const double y = x < -21 ? -0.0 : general;
  return x == x ? y : nan64();
}

}  // namespace isobit::numerics::impl
