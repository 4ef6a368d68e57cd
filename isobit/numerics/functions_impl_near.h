// Values near those of functions.h, for less time: part of functions_impl.h, which says how it is to be used. Unlike
// there, an fma is used where the target of the translation unit has one.
#pragma once

#include "isobit/numerics/fma.h"
#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

// a * b + c in one rounding where that is one instruction, else in two: for what is near a value and whose last bits
// nobody sees.
ISOBIT_INLINE double near_sum(double a, double b, double c) {
#if ISOBIT_HARDWARE_FMA
  return fma_f64(a, b, c);
#else
  return a * b + c;
#endif
}
template <int First, int Step, int N>
ISOBIT_INLINE double near_horner(const double (&c)[N], double x) {
  if constexpr (First + Step >= N) {
    return c[First];
  } else {
    return near_sum(x, near_horner<First + Step, Step>(c, x), c[First]);
  }
}
template <int N>
ISOBIT_INLINE double near_polynomial(const double (&c)[N], double x) {
  const double y = x * x;
  return near_sum(x, near_horner<1, 2>(c, y), near_horner<0, 2>(c, y));
}

// x Phi(x), off by less than kGeluNearError of itself, for x >= -14.5; below that a number that rounds to -0, as x
// Phi(x) does; NaN for NaN. Its last bits depend on the instruction set: no result may, so it is for those who then
// look whether both ends of its error round to one float.
constexpr double kGeluNearError = 0x1p-37;
ISOBIT_INLINE double gelu_erf_near(float x) {
  const float a = magnitude(x);
  const double bounded = static_cast<double>(a > 14.5f ? 14.5f : a);
  const double y = -0.5 * bounded * bounded;
  const double shifted = near_sum(y, kInverseLn2, kMagic);
  const double r = near_sum(kMagic - shifted, kLn2High + kLn2Low, y);
  const double power = from_bits64(to_bits(near_polynomial(kExpNear, r)) + (to_bits(shifted) << 52));
  const double tail = power * near_polynomial(kPhiTailNear, (bounded - 5) / (bounded + 5));
  const double factor = x < -14.5f ? -14.5 : static_cast<double>(x);  // so that -inf gives -0
  return factor * (x < 0 ? tail : 1 - tail);
}

}  // namespace isobit::numerics::impl
