// sinh, cosh, their inverses and log1p of functions_impl.h (included by it), float32 and float64 from the same pairs.
#pragma once

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_impl_inverse.h"
#include "isobit/numerics/functions_impl_pair.h"
#include "isobit/numerics/functions_impl_series.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

// For 0 <= a <= 712: with m = e^a - 1 sinh a is (m + m / (1 + m)) / 2 and cosh a is (1 + m + 1 / (1 + m)) / 2. Beyond
// 40 the second summand is below what pairs hold, and both are e^a / 2.
struct Hyperbolic {
  Pair sinh;
  Pair cosh;
};
ISOBIT_INLINE Hyperbolic hyperbolic_pair(double a) {
  const ReducedExponent x = reduce_exponent({a, 0});
  const Pair m = expm1_pair(x.rest);
  const Pair far = scaled_by_power(add(m, 1.0), x.k - 1);
  const double scale = power_of_two(x.k > 60 ? 60.0 : x.k);
  const Pair part = scaled(m, scale);
  const Pair exponential = add(part, scale);
  const Pair exponential_minus_1 = add(part, ordered_sum(scale, -1));  // 2^k - 1 is exact as a pair
  const Pair sinh = add_smaller(exponential_minus_1, divide(exponential_minus_1, exponential));
  const Pair cosh = add_smaller(exponential, divide({1, 0}, exponential));
  return {choose(a > 40, far, scaled(sinh, 0.5)), choose(a > 40, far, scaled(cosh, 0.5))};
}

// Beyond this the square that the inverses take would leave the range of exact products; log(2 a) is the result there.
constexpr double kLargeArgument = 0x1p200;

// log(a + sqrt(a^2 + 1)) for a >= 0, as log1p of a + a^2 / (1 + sqrt(a^2 + 1)).
ISOBIT_INLINE Pair asinh_pair(double a) {
  const bool large = a > kLargeArgument;
  const double b = large ? 1.0 : a;
  const Pair square = two_product(b, b);
  const Pair root = square_root(add(square, 1.0));
  const Pair w = add(divide(square, add(root, 1.0)), b);
  return log_pair(choose(large, {a, 0}, add(w, 1.0)), w, large ? 1.0 : 0.0);
}

// log(a + sqrt(a^2 - 1)) for a >= 1, as log1p of t + sqrt(t (a + 1)) with t = a - 1.
ISOBIT_INLINE Pair acosh_pair(double a) {
  const bool large = a > kLargeArgument;
  const double b = large ? 1.0 : a;
  const Pair t = two_sum(b, -1);
  const Pair w = add(t, square_root(multiply(t, two_sum(b, 1))));
  return log_pair(choose(large, {a, 0}, add(w, 1.0)), w, large ? 1.0 : 0.0);
}

// log((1 + a) / (1 - a)) / 2 for 0 <= a < 1, as log1p of 2 a / (1 - a).
ISOBIT_INLINE Pair atanh_pair(double a) { return scaled(log1p_pair(divide({2 * a, 0}, two_sum(1, -a))), 0.5); }

// ---- float32 ----

ISOBIT_INLINE float cr_sinh(float x) {
  const float a = magnitude(x);
  const Pair y = hyperbolic_pair(static_cast<double>(a > 100.0f ? 100.0f : a)).sinh;
  return x == x ? with_sign_of(narrowed(y), x) : nan32();
}

ISOBIT_INLINE float cr_cosh(float x) {
  const float a = magnitude(x);
  const Pair y = hyperbolic_pair(static_cast<double>(a > 100.0f ? 100.0f : a)).cosh;
  return x == x ? narrowed(y) : nan32();
}

ISOBIT_INLINE float cr_asinh(float x) {
  const float a = magnitude(x);
  const float y = a < inf32() ? narrowed(asinh_pair(static_cast<double>(a))) : a;
  return x == x ? with_sign_of(y, x) : nan32();
}

ISOBIT_INLINE float cr_acosh(float x) {
  const float y = x < inf32() ? narrowed(acosh_pair(static_cast<double>(x))) : x;
  return x >= 1 ? y : nan32();
}

ISOBIT_INLINE float cr_atanh(float x) {
  const float a = magnitude(x);
  const float y = a < 1 ? narrowed(atanh_pair(static_cast<double>(a))) : inf32();
  return a <= 1 ? with_sign_of(y, x) : nan32();
}

ISOBIT_INLINE float cr_log1p(float x) {
  float y = narrowed(log1p_pair({static_cast<double>(x), 0}));
  y = x < inf32() ? y : x;
  y = x == -1 ? -inf32() : y;
  y = x == 0 ? x : y;
  return x >= -1 ? y : nan32();
}

// ---- float64 ----

ISOBIT_INLINE double f64_sinh(double x) {
  const double a = magnitude(x);
  const double y = a < kTinyArgument ? a : hyperbolic_pair(a > 712 ? 712.0 : a).sinh.high;
  return x == x ? with_sign_of(y, x) : nan64();
}

ISOBIT_INLINE double f64_cosh(double x) {
  const double a = magnitude(x);
  const double y = a < kTinyArgument ? 1.0 : hyperbolic_pair(a > 712 ? 712.0 : a).cosh.high;
  return x == x ? y : nan64();
}

ISOBIT_INLINE double f64_asinh(double x) {
  const double a = magnitude(x);
  double y = a < kTinyArgument ? a : asinh_pair(a).high;
  y = a < inf64() ? y : a;
  return x == x ? with_sign_of(y, x) : nan64();
}

ISOBIT_INLINE double f64_acosh(double x) {
  const double y = x < inf64() ? acosh_pair(x).high : x;
  return x >= 1 ? y : nan64();
}

ISOBIT_INLINE double f64_atanh(double x) {
  const double a = magnitude(x);
  double y = a < kTinyArgument ? a : atanh_pair(a).high;
  y = a < 1 ? y : inf64();
  return a <= 1 ? with_sign_of(y, x) : nan64();
}

ISOBIT_INLINE double f64_log1p(double x) {
  double y = magnitude(x) < kTinyArgument ? x : log1p_pair({x, 0}).high;
  y = x < inf64() ? y : x;
  y = x == -1 ? -inf64() : y;
  return x >= -1 ? y : nan64();
}

}  // namespace isobit::numerics::impl
