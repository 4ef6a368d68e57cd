// Bodies of functions.h for per-ISA translation units: include this, write a loop over float32, and the compiler
// vectorises it (-O3; tested with GCC 12 and clang 16). Only + - * / sqrt in float64, integer operations on the bits,
// and selects: no fma, so that a CPU without one has the same bits at full speed; no float-to-int conversion, whose
// out-of-range results differ by ISA.
//
// Everything is always_inline and static: nothing can leak out of a translation unit with ISA flags.
//
// How a cr_ function of this file gets its bits: the float64 value has an error below about 2 units in its last place,
// so narrowing it to float32 is correct unless the mathematical value lies within 2^-51 (relative) of the midpoint of
// two float32 values. The few inputs where that goes wrong are found by exhaustion and named one by one in a select.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_coefficients.h"
#include "isobit/numerics/functions_impl_bits.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

// Adding and subtracting this rounds a float64 of magnitude below 2^51 to an integer (ties to even), and leaves that
// integer in the low bits of the sum.
constexpr double kMagic = 0x1.8p52;
constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits: a product with an 11-bit integer is exact
constexpr double kLn2Low = 0x1.ef35793c76730p-45;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

// c[First] + c[First + Step] x + c[First + 2 Step] x^2 ...
template <int First, int Step, int N>
ISOBIT_INLINE double horner(const double (&c)[N], double x) {
  if constexpr (First + Step >= N) {
    return c[First];
  } else {
    return c[First] + x * horner<First + Step, Step>(c, x);
  }
}
// Even and odd powers apart: two independent chains.
template <int N>
ISOBIT_INLINE double polynomial(const double (&c)[N], double x) {
  const double y = x * x;
  return horner<0, 2>(c, y) + x * horner<1, 2>(c, y);
}

// e^r - 1 for |r| <= ln2 / 2.
ISOBIT_INLINE double expm1_reduced(double r) { return r + r * r * polynomial(kExp, r); }

// e^(x + low) for |x| <= 700 and |low| <= 2^-20 |x|. x - k * kLn2High is exact: both are multiples of the last place of
// a number below 0.35.
ISOBIT_INLINE double exp_core(double x, double low) {
  const double shifted = x * kInverseLn2 + kMagic;
  const double k = shifted - kMagic;
  const double r = (x - k * kLn2High) - (k * kLn2Low - low);
  return from_bits64(to_bits(1 + expm1_reduced(r)) + (to_bits(shifted) << 52));
}

// e^y - 1 for -110 <= y <= 110. Where k is not 0 the result is no smaller than 0.29, so that nothing cancels.
ISOBIT_INLINE double expm1_core(double y) {
  const double shifted = y * kInverseLn2 + kMagic;
  const double k = shifted - kMagic;
  const double r = (y - k * kLn2High) - k * kLn2Low;
  const double scale = from_bits64(to_bits(1.0) + (to_bits(shifted) << 52));
  return scale * expm1_reduced(r) + (scale - 1);
}

// log x for a positive normal float64. With x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt 2 and s = f / (2 + f):
// log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), where f and, for float32 arguments, f^2/2 are exact.
ISOBIT_INLINE double log_core(double x) {
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdull;
  constexpr uint64_t kExponentMask = 0xfff0000000000000ull;
  const uint64_t distance = to_bits(x) - kSqrtHalf;  // its top 12 bits are e, two's complement
  // e + 1024 is in [0, 2^12), so its bits under those of 2^52 make a float64 without a conversion.
  const uint64_t biased = (distance + (uint64_t{1024} << 52)) >> 52;
  const double e = from_bits64(biased | 0x4330000000000000ull) - (0x1p52 + 1024);
  const double f = from_bits64(to_bits(x) - (distance & kExponentMask)) - 1;
  const double half_square = 0.5 * f * f;
  const double s = f / (2 + f);
  const double z = s * s;
  const double tail = s * (half_square + z * polynomial(kLog, z));
  return e * kLn2High + ((f - half_square) + (tail + e * kLn2Low));
}

// erf x for 0 <= x <= 1. The product with the leading 29 bits of 2/sqrt(pi) is exact for a float32 argument.
ISOBIT_INLINE double erf_small(double x) { return x * 0x1.20dd750000000p+0 + x * polynomial(kErfSmall, x * x); }

// Phi(x) for |x| <= 1.25, Phi the standard normal distribution function.
ISOBIT_INLINE double phi_small(double x) { return 0.5 + x * polynomial(kPhiSmall, x * x); }

// Phi(-x) for 1.25 <= x <= 14.5, x a float32.
ISOBIT_INLINE double phi_tail(double x) {
  return exp_core(-0.5 * x * x, 0) * (polynomial(kPhiTail, (x - 4.5) / (x + 4.5)) / (x + 1));
}

// ---- float32 ----

ISOBIT_INLINE float cr_exp(float x) {
  float clamped = x > 89.0f ? 89.0f : x;
  clamped = clamped < -104.0f ? -104.0f : clamped;
  const float y = static_cast<float>(exp_core(static_cast<double>(clamped), 0));
  return x == x ? y : nan32();
}

ISOBIT_INLINE float cr_log(float x) {
  float y = static_cast<float>(log_core(static_cast<double>(x)));
  y = x == 0x1.827a74p-7f ? from_bits32(0xc08e158fu) : y;
  y = x == 0x1.2f1fd6p+3f ? from_bits32(0x400fe5e7u) : y;
  y = x == 0x1.bacb4ap+25f ? from_bits32(0x418f034bu) : y;
  y = x == 0x1.b121a6p+76f ? from_bits32(0x4254d1f9u) : y;
  y = x == 0x1.6351d8p+95f ? from_bits32(0x42845a89u) : y;
  y = x == inf32() ? x : y;
  y = x == 0 ? -inf32() : y;
  return x >= 0 ? y : nan32();
}

ISOBIT_INLINE float cr_tanh(float x) {
  const float a = magnitude(x);
  const float clamped = a > 10.0f ? 10.0f : a;
  const double u = expm1_core(2 * static_cast<double>(clamped));
  const float y = with_sign_of(static_cast<float>(u / (u + 2)), x);
  return x == x ? y : nan32();
}

ISOBIT_INLINE float cr_erf(float x) {
  const float a = magnitude(x);
  const double clamped = static_cast<double>(a > 4.0f ? 4.0f : a);
  const double small = erf_small(clamped);
  const double large = polynomial(kErfLarge, clamped - 2.5);
  const float y = with_sign_of(static_cast<float>(clamped < 1 ? small : large), x);
  return x == x ? y : nan32();
}

ISOBIT_INLINE float cr_sqrt(float x) {
  const float y = __builtin_sqrtf(x);
  return y == y ? y : nan32();
}

ISOBIT_INLINE float cr_rsqrt(float x) {
  const float y = static_cast<float>(1 / __builtin_sqrt(static_cast<double>(x)));
  return y == y ? y : nan32();
}

ISOBIT_INLINE float cr_sigmoid(float x) {
  float clamped = x > 110.0f ? 110.0f : x;
  clamped = clamped < -110.0f ? -110.0f : clamped;
  const double wide = static_cast<double>(clamped);
  const double general = 1 / (1 + exp_core(-wide, 0));
  // Near 0 the value is 1/2 + x/4 - x^3/48: where 1/2 + x/4 is a midpoint the cubic term, too small for float64,
  // decides. Anything of its sign that is below the distance of other inputs from a midpoint (2^-50) stands in for it.
  const double near_zero = (0.5 + 0.25 * wide) - with_sign_of(0x1p-52, wide);
  float y = static_cast<float>(magnitude(wide) < 0x1p-11 ? near_zero : general);
  y = x == -0x1.250c02p-10f ? from_bits32(0x3effdb5fu) : y;
  return x == x ? y : nan32();
}

// x/2 for tiny x, pushed up by less than half a unit of a float64 of 50 bits: a halved odd subnormal is a midpoint, and
// the next term of x Phi(x) and its like, a positive multiple of x^2, decides it.
ISOBIT_INLINE double half_and_a_bit(double x) { return x * (0.5 + with_sign_of(0x1p-50, x)); }

ISOBIT_INLINE float cr_gelu_erf(float x) {
  const float a = magnitude(x);
  const double wide = static_cast<double>(x);
  const double tail = phi_tail(static_cast<double>(a > 14.5f ? 14.5f : a));
  double phi = x < 0 ? tail : 1 - tail;
  phi = a < 1.25f ? phi_small(wide) : phi;
  const double factor = x < -14.5f ? -14.5 : wide;  // so that -inf gives -0
  float y = static_cast<float>(a < 0x1p-60f ? half_and_a_bit(wide) : factor * phi);
  y = x == 0x1.6148dep-16f ? from_bits32(0x3730a531u) : y;
  return x == x ? y : nan32();
}

// x / (1 + e^-v), v = x (c1 + c3 x^2) = 2 sqrt(2/pi) (x + 0.044715 x^3) to about 75 bits: an error of v is a relative
// error of the result. float32 halves of float64 numbers make the leading products exact.
ISOBIT_INLINE float cr_gelu_tanh(float x) {
  constexpr double kC1 = 0x1.9884533d43651p+0, kC1Low = -0x1.cbc0d30ebfd15p-54;
  constexpr double kC3 = 0x1.2444f28000000p-4, kC3Low = 0x1.26c5a57a4def1p-31;
  float bounded = x > 11.0f ? 11.0f : x;
  bounded = bounded < -11.0f ? -11.0f : bounded;
  const double w = static_cast<double>(bounded);
  const double square = w * w;
  const double square_high = static_cast<double>(static_cast<float>(square));
  const double square_low = square - square_high;
  const double product = square_high * kC3;
  const double sum = kC1 + product;
  const double back = sum - kC1;
  const double sum_low = ((kC1 - (sum - back)) + (product - back)) + (square_low * kC3 + (square * kC3Low + kC1Low));
  const double sum_high = static_cast<double>(static_cast<float>(sum));
  const double v = w * sum_high;
  const double v_low = w * (sum - sum_high) + w * sum_low;
  const double general = (x < -11.0f ? -11.0 : static_cast<double>(x)) / (1 + exp_core(-v, -v_low));
  float y = static_cast<float>(magnitude(x) < 0x1p-60f ? half_and_a_bit(static_cast<double>(x)) : general);
  y = x == -0x1.6148dep-16f ? from_bits32(0xb730a3adu) : y;
  return x == x ? y : nan32();
}

}  // namespace isobit::numerics::impl

#include "isobit/numerics/functions_impl_f64.h"
#include "isobit/numerics/functions_impl_hyperbolic.h"
#include "isobit/numerics/functions_impl_inverse.h"
#include "isobit/numerics/functions_impl_near.h"
#include "isobit/numerics/functions_impl_pow.h"
#include "isobit/numerics/functions_impl_soft.h"
#include "isobit/numerics/functions_impl_trig.h"
#include "isobit/numerics/functions_impl_trig_pair.h"
