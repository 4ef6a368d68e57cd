// atan, asin and acos of functions_impl.h (included by it), float32 and float64 from the same pairs.
#pragma once

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_impl_pair.h"
#include "isobit/numerics/functions_impl_series.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

// Below this an odd function with f'(0) = 1 is its argument, to half a unit of a float64; and products of pairs could
// underflow.
constexpr double kTinyArgument = 0x1p-60;

// a >= 0. Beyond 2^100 the angle differs from pi/2 by less than pairs can tell.
ISOBIT_INLINE Pair atan_pair(double a) { return angle_pair({a > 0x1p100 ? 0x1p100 : a, 0}, {1, 0}); }

// sqrt((1 - a)(1 + a)), 0 <= a <= 1; both sums are exact.
ISOBIT_INLINE Pair cathetus_pair(double a) { return square_root(multiply(two_sum(1, -a), two_sum(1, a))); }

// 0 <= a <= 1
ISOBIT_INLINE Pair asin_pair(double a) { return angle_pair({a, 0}, cathetus_pair(a)); }

// |x| <= 1
ISOBIT_INLINE Pair acos_pair(double x) {
  const double a = magnitude(x);
  const Pair acute = angle_pair(cathetus_pair(a), {a, 0});
  return choose(x < 0, add(kPi, negated(acute)), acute);
}

ISOBIT_INLINE float cr_atan(float x) {
  const float y = with_sign_of(narrowed(atan_pair(static_cast<double>(magnitude(x)))), x);
  return x == x ? y : nan32();
}

ISOBIT_INLINE float cr_asin(float x) {
  const float a = magnitude(x);
  const float y = with_sign_of(narrowed(asin_pair(static_cast<double>(a))), x);
  return a <= 1 ? y : nan32();
}

ISOBIT_INLINE float cr_acos(float x) {
  const float y = narrowed(acos_pair(static_cast<double>(x)));
  return magnitude(x) <= 1 ? y : nan32();
}

ISOBIT_INLINE double f64_atan(double x) {
  const double a = magnitude(x);
  const double y = with_sign_of(a < kTinyArgument ? a : atan_pair(a).high, x);
  return x == x ? y : nan64();
}

ISOBIT_INLINE double f64_asin(double x) {
  const double a = magnitude(x);
  const double y = with_sign_of(a < kTinyArgument ? a : asin_pair(a).high, x);
  return a <= 1 ? y : nan64();
}

ISOBIT_INLINE double f64_acos(double x) {
  const double tiny = magnitude(x) < 0x1p-100 ? 0.0 : x;  // keeps products of pairs in their range
  const double y = acos_pair(tiny).high;
  return magnitude(x) <= 1 ? y : nan64();
}

}  // namespace isobit::numerics::impl
