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

// Phi(-x) for 0 <= x <= 14.5, given e^(-x^2 / 2): off by less than kGeluNearError / 2 of itself, and the error of what
// is given.
ISOBIT_INLINE double phi_tail_near(double x, double power) {
  return power * near_polynomial(kPhiTailNear, (x - 5) / (x + 5));
}
// e^y for -110 <= y <= 0, off by less than kExpNearError of itself.
constexpr double kExpNearError = 0x1p-38;
ISOBIT_INLINE double exp_near(double y) {
  const double shifted = near_sum(y, kInverseLn2, kMagic);
  const double r = near_sum(kMagic - shifted, kLn2High + kLn2Low, y);
  return from_bits64(to_bits(near_polynomial(kExpNear, r)) + (to_bits(shifted) << 52));
}

// x Phi(x), off by less than kGeluNearError of itself, for x >= -14.5; below that a number that rounds to -0, as x
// Phi(x) does; NaN for NaN. Its last bits depend on the instruction set: no result may, so it is for those who then
// look whether both ends of its error round to one float.
constexpr double kGeluNearError = 0x1p-37;
ISOBIT_INLINE double gelu_erf_near(float x) {
  const float a = magnitude(x);
  const double bounded = static_cast<double>(a > 14.5f ? 14.5f : a);
  const double tail = phi_tail_near(bounded, exp_near(-0.5 * bounded * bounded));
  const double factor = x < -14.5f ? -14.5 : static_cast<double>(x);  // so that -inf gives -0
  return factor * (x < 0 ? tail : 1 - tail);
}

// erf z and e^w for a w near -z^2, which is 0 or less: what the gradient of GELU takes. The first is off by less than
// kErfNearError, the second by less than kExpNearError of itself or 2^-150; NaN for NaN. As above, no result may depend
// on their last bits.
// By e^(-z^2) = e^w e^d with d = -z^2 - w, d below 2^-21 of w: 1 + d in place of e^d takes less than 2^-44 of erf.
// Where z or w is cut, d is up to 5 and the tail below 2^-140.
constexpr double kErfNearError = 0x1p-36;
struct ErfAndExp {
  double erf, exp;
};
ISOBIT_INLINE ErfAndExp erf_and_exp_near(float z, float w) {
  const double a = static_cast<double>(magnitude(z)), bounded = a > 10 ? 10 : a;
  const double y = w < -105.0f ? -105.0 : static_cast<double>(w);
  const double power = exp_near(y);
  const double d = near_sum(-bounded, bounded, -y);
  const double tail = phi_tail_near(bounded * 0x1.6a09e667f3bcdp+0, power + power * d);
  const double erf = 1 - 2 * tail;
  return {z < 0 ? -erf : erf, power};
}

}  // namespace isobit::numerics::impl
