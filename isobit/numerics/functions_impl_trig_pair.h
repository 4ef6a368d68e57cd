// tan of functions_impl.h (included by it), and sin, cos and tan in float64: scalar code, one reduction by exact
// integers for every argument above pi/4.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_impl_pair.h"
#include "isobit/numerics/functions_impl_series.h"
#include "isobit/numerics/functions_impl_trig.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

// x = quadrant * pi/2 + rest, |rest| <= pi/4 (a little over), to about 2^-70 of rest.
struct ReducedPair {
  Pair rest;
  uint64_t quadrant;  // modulo 4
};

// Low 192 bits of a product, most significant word first.
struct Words {
  uint64_t w[3];
};
ISOBIT_INLINE Words multiply_words(uint64_t factor, Words a) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide low = static_cast<Wide>(factor) * a.w[2];
  const Wide middle = static_cast<Wide>(factor) * a.w[1] + static_cast<uint64_t>(low >> 64);
  return {{factor * a.w[0] + static_cast<uint64_t>(middle >> 64), static_cast<uint64_t>(middle),
           static_cast<uint64_t>(low)}};
}
ISOBIT_INLINE Words negated_words(Words a) {
  const uint64_t low = ~a.w[2] + 1;
  const uint64_t middle = ~a.w[1] + (low == 0 ? 1 : 0);
  return {{~a.w[0] + (low == 0 && middle == 0 ? 1 : 0), middle, low}};
}

// The first 106 bits of a * 2^-190 times pi/2; REQUIRES: a is not zero, and below 2^190.
ISOBIT_INLINE Pair angle_of_words(Words a) {
  double unit = 0x1p-62;  // of the first word
  while (a.w[0] == 0) {
    a = {{a.w[1], a.w[2], 0}};
    unit *= 0x1p-64;
  }
  const int shift = __builtin_clzll(a.w[0]);
  const uint64_t first = shift == 0 ? a.w[0] : a.w[0] << shift | a.w[1] >> (64 - shift);
  const uint64_t second = shift == 0 ? a.w[1] : a.w[1] << shift | a.w[2] >> (64 - shift);
  unit *= power_of_two(-static_cast<double>(shift));
  const double high = static_cast<double>(first >> 11) * (unit * 0x1p11);
  const double low = static_cast<double>((first & 0x7ff) << 42 | second >> 22) * (unit * 0x1p-42);
  return multiply(ordered_sum(high, low), kHalfPi);
}

// Any finite x. The product of the 53-bit significand with 192 bits of 2/pi, chosen so that only multiples of four
// quadrants are left out (Payne and Hanek 1983), has the quadrant in its top two bits and 190 bits of fraction, of
// which the last 53 are not to be relied on. No float64 is nearer than 2^-61 to a multiple of pi/2.
ISOBIT_INLINE ReducedPair reduce_angle(double x) {
  if (magnitude(x) <= 0x1.921fb54442d18p-1) return {{x, 0}, 0};
  const uint64_t b = to_bits(x);
  const int exponent = static_cast<int>(b >> 52 & 0x7ff) - 1075;  // x = significand * 2^exponent
  const int offset = exponent + 62;                               // first bit of the table that matters
  const int word = offset / 64;
  const int shift = offset % 64;
  Words window;
  for (int i = 0; i < 3; ++i) {
    const uint64_t* at = kTwoOverPiWords + word + i;
    window.w[i] = shift == 0 ? at[0] : at[0] << shift | at[1] >> (64 - shift);
  }
  Words turns = multiply_words((b & 0xfffffffffffffull) | 0x10000000000000ull, window);
  const uint64_t quadrant = (turns.w[0] + (uint64_t{1} << 61)) >> 62;  // the nearest
  turns.w[0] -= quadrant << 62;
  const bool below = turns.w[0] >> 63 != 0;
  const Pair angle = angle_of_words(below ? negated_words(turns) : turns);
  const bool negative = b >> 63 != 0;
  return {below != negative ? negated(angle) : angle, negative ? 0 - quadrant : quadrant};
}

ISOBIT_INLINE Pair tan_pair(double x) {
  const ReducedPair angle = reduce_angle(x);
  const Pair sine = sin_pair(angle.rest), cosine = cos_pair(angle.rest);
  return angle.quadrant & 1 ? negated(divide(cosine, sine)) : divide(sine, cosine);
}

ISOBIT_INLINE float cr_tan(float x) {
  if (!(magnitude(x) < inf32())) return nan32();
  return x == 0 ? x : narrowed(tan_pair(static_cast<double>(x)));
}

ISOBIT_INLINE double f64_tan(double x) {
  if (!(magnitude(x) < inf64())) return nan64();
  return magnitude(x) < 0x1p-60 ? x : tan_pair(x).high;
}

ISOBIT_INLINE double f64_sin(double x) {
  if (!(magnitude(x) < inf64())) return nan64();
  if (magnitude(x) < 0x1p-60) return x;
  const ReducedPair angle = reduce_angle(x);
  return sin_or_cos({angle.rest.high, angle.rest.low, angle.quadrant}, angle.quadrant);
}

ISOBIT_INLINE double f64_cos(double x) {
  if (!(magnitude(x) < inf64())) return nan64();
  const ReducedPair angle = reduce_angle(x);
  return sin_or_cos({angle.rest.high, angle.rest.low, angle.quadrant}, angle.quadrant + 1);
}

}  // namespace isobit::numerics::impl
