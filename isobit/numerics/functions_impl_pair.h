// Arithmetic on unevaluated sums of two float64 numbers, about 104 bits, for the bodies of functions_impl.h: without
// fma, without branches. Error bounds are those of Joldes, Muller and Popescu (2017), in u = 2^-53: a sum 3 u^2, a
// product 7 u^2, a quotient 15 u^2, a square root 4 u^2, relative.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl_bits.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

// high + low. What the functions below return is normalised: high is the sum rounded to nearest.
struct Pair {
  double high;
  double low;
};

ISOBIT_INLINE Pair choose(bool condition, Pair yes, Pair no) {
  return {condition ? yes.high : no.high, condition ? yes.low : no.low};
}
ISOBIT_INLINE Pair negated(Pair a) { return {-a.high, -a.low}; }
// Exact for a power of two, as long as nothing under- or overflows.
ISOBIT_INLINE Pair scaled(Pair a, double power_of_two) { return {a.high * power_of_two, a.low * power_of_two}; }

// a + b exactly; REQUIRES: a = 0 or |a| >= |b| (Dekker 1971).
ISOBIT_INLINE Pair ordered_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
// a + b exactly (Knuth).
ISOBIT_INLINE Pair two_sum(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// a * b exactly, without fma (Dekker 1971 with Veltkamp's split). REQUIRES magnitudes between 2^-450 and 2^450, or
// zero.
ISOBIT_INLINE Pair two_product(double a, double b) {
  const double ta = a * 134217729.0, tb = b * 134217729.0;
  const double ah = ta - (ta - a), bh = tb - (tb - b);
  const double al = a - ah, bl = b - bh;
  const double p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

ISOBIT_INLINE Pair add(Pair a, double b) {
  const Pair s = two_sum(a.high, b);
  return ordered_sum(s.high, s.low + a.low);
}
ISOBIT_INLINE Pair add(Pair a, Pair b) {
  const Pair s = two_sum(a.high, b.high);
  const Pair t = two_sum(a.low, b.low);
  const Pair v = ordered_sum(s.high, s.low + t.high);
  return ordered_sum(v.high, v.low + t.low);
}
// REQUIRES: a = 0, or |a| >= |b| and nothing much cancels: of one sign, or |a| >= 2 |b|.
ISOBIT_INLINE Pair add_smaller(Pair a, Pair b) {
  const Pair s = ordered_sum(a.high, b.high);
  return ordered_sum(s.high, s.low + (a.low + b.low));
}
ISOBIT_INLINE Pair multiply(Pair a, double b) {
  const Pair p = two_product(a.high, b);
  return ordered_sum(p.high, p.low + a.low * b);
}
ISOBIT_INLINE Pair multiply(Pair a, Pair b) {
  const Pair p = two_product(a.high, b.high);
  return ordered_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
// The second quotient is that of the remainder, whose leading difference is exact.
ISOBIT_INLINE Pair divide(Pair a, Pair b) {
  const double q = a.high / b.high;
  const Pair p = multiply(b, q);
  return ordered_sum(q, ((a.high - p.high) + (a.low - p.low)) / b.high);
}
ISOBIT_INLINE Pair square_root(Pair a) {
  const double s = __builtin_sqrt(a.high);
  const Pair p = two_product(s, s);
  const double rest = ((a.high - p.high) - p.low) + a.low;
  return ordered_sum(s, s == 0 ? 0.0 : rest / (2 * s));
}

// c[kFirst] + c[kFirst + kStep] x ... in float64.
template <int kFirst, int kStep, int N>
ISOBIT_INLINE double horner_high(const Pair (&c)[N], double x) {
  if constexpr (kFirst + kStep >= N) {
    return c[kFirst].high;
  } else {
    return c[kFirst].high + x * horner_high<kFirst + kStep, kStep>(c, x);
  }
}

// c[kFirst] + c[kFirst + 1] x ..., the coefficients before kPairs in pairs, those after them in float64. REQUIRES: each
// partial sum is at least twice the rest that is added to it.
template <int kPairs, int kFirst = 0, int N>
ISOBIT_INLINE Pair polynomial_pair(const Pair (&c)[N], Pair x) {
  if constexpr (kFirst + 1 == kPairs) {
    const double square = x.high * x.high;
    const double rest = horner_high<kPairs, 2>(c, square) + x.high * horner_high<kPairs + 1, 2>(c, square);
    return add_smaller(c[kFirst], multiply(x, rest));
  } else {
    return add_smaller(c[kFirst], multiply(x, polynomial_pair<kPairs, kFirst + 1>(c, x)));
  }
}

// The float32 nearest to high + low, ties to even. REQUIRES: normalised; finite. The sum is rounded to odd first, as in
// fma_f32_emulated, so that narrowing it decides as the whole sum would.
ISOBIT_INLINE float narrowed(Pair a) {
  const bool inexact = a.low != 0;
  const bool rounded_away = inexact && (a.low < 0) != (a.high < 0);
  const uint64_t truncated = to_bits(a.high) - (rounded_away ? uint64_t{1} : uint64_t{0});
  return static_cast<float>(from_bits64(truncated | (inexact ? uint64_t{1} : uint64_t{0})));
}

}  // namespace isobit::numerics::impl
