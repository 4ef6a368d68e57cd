// sin and cos of functions_impl.h (included by it). cr_sin and cr_cos are scalar code (large arguments branch away);
// loops that must vectorise use sin_moderate and cos_moderate where |x| <= kModerate and cr_sin elsewhere.
#pragma once

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

constexpr float kModerate = 0x1p15f;

// x = quadrant * pi/2 + high + low, |high| <= pi/4 (a little over), |low| <= half an ulp of high.
struct ReducedAngle {
  double high;
  double low;
  uint64_t quadrant;  // modulo 4
};

// |x| <= kModerate: pi/2 in parts of 38, 38 and 53 bits, whose first two products with the quadrant (15 bits) are
// exact.
ISOBIT_INLINE ReducedAngle reduce_moderate(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + kMagic;
  const double k = shifted - kMagic;
  const double first = x - k * 0x1.921fb54440000p+0;
  const double second = k * 0x1.68c234c4c0000p-39;
  const double high = first - second;
  const double low = ((first - high) - second) - k * 0x1.98a2e03707345p-77;
  return {high, low, to_bits(shifted)};
}

// Any finite x of at least 1/2: the product of its 24-bit significand with 128 bits of 2/pi, chosen so that only whole
// turns are left out (Payne and Hanek 1983), leaves the quadrant in the top two bits and 126 bits of fraction.
ISOBIT_INLINE ReducedAngle reduce_large(float x) {
  static constexpr uint32_t kTwoOverPi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                            0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
                                            0xdebbc561u, 0xb7246e3au, 0x424dd2e0u};
  __extension__ typedef unsigned __int128 Wide;
  const uint32_t b = to_bits(x);
  const int exponent = static_cast<int>((b >> 23) & 0xff) - 150;  // x = significand * 2^exponent
  const int offset = exponent + 30;                               // first bit of the table that matters
  const int word = offset / 32;
  const int shift = offset % 32;
  Wide window = 0;
  for (int i = 0; i < 4; ++i) window = window << 32 | kTwoOverPi[word + i];
  if (shift != 0) window = window << shift | kTwoOverPi[word + 4] >> (32 - shift);
  const Wide turns = window * ((b & 0x7fffffu) | 0x800000u);
  uint64_t quadrant = static_cast<uint64_t>((turns + (Wide{1} << 125)) >> 126);
  Wide fraction = turns - (static_cast<Wide>(quadrant) << 126);
  const bool below = static_cast<bool>(fraction >> 127);
  if (below) fraction = -fraction;
  if (fraction == 0) return {0, 0, quadrant};
  int scale = -126;
  while (!(fraction >> 96)) fraction <<= 32, scale -= 32;
  // The three leading 32-bit pieces hold at least 65 significant bits.
  double unit = from_bits64(static_cast<uint64_t>(1023 + scale + 96) << 52);
  const double a = static_cast<double>(static_cast<uint32_t>(fraction >> 96)) * unit;
  const double c = static_cast<double>(static_cast<uint64_t>(fraction >> 43) & 0x1fffffffffffffull) * (unit * 0x1p-53);
  // times pi/2 = 20 + 20 + 53 bits
  const double leading = a * 0x1.921fb00000000p+0;
  const double rest = a * 0x1.5110a00000000p-22 + (a * 0x1.4611a62633146p-42 + c * 0x1.921fb54442d18p+0);
  const double high = leading + rest;
  const double low = rest - (high - leading);
  const bool negative = below != static_cast<bool>(b >> 31);
  return {negative ? -high : high, negative ? -low : low, b >> 31 ? 0 - quadrant : quadrant};
}

ISOBIT_INLINE double sin_or_cos(ReducedAngle angle, uint64_t quadrant) {
  const double r = angle.high;
  const double z = r * r;
  const double half = 0.5 * z;
  const double sine = r + (r * z * polynomial(kSin, z) + angle.low * (1 - half));
  const double base = 1 - half;
  const double cosine = base + (((1 - base) - half) + (z * z * polynomial(kCos, z) - r * angle.low));
  const double value = quadrant & 1 ? cosine : sine;
  return quadrant & 2 ? -value : value;
}

ISOBIT_INLINE float sin_moderate(float x) {
  const ReducedAngle angle = reduce_moderate(static_cast<double>(x));
  float y = static_cast<float>(sin_or_cos(angle, angle.quadrant));
  y = x == 0x1.33333p+13f ? from_bits32(0xbeb1fa5du) : y;
  y = x == -0x1.33333p+13f ? from_bits32(0x3eb1fa5du) : y;
  return x == 0 ? x : y;
}

ISOBIT_INLINE float cos_moderate(float x) {
  const ReducedAngle angle = reduce_moderate(static_cast<double>(x));
  return static_cast<float>(sin_or_cos(angle, angle.quadrant + 1));
}

ISOBIT_INLINE float cr_sin(float x) {
  if (magnitude(x) <= kModerate) return sin_moderate(x);
  if (!(magnitude(x) < inf32())) return nan32();
  const ReducedAngle angle = reduce_large(x);
  return static_cast<float>(sin_or_cos(angle, angle.quadrant));
}

ISOBIT_INLINE float cr_cos(float x) {
  if (magnitude(x) <= kModerate) return cos_moderate(x);
  if (!(magnitude(x) < inf32())) return nan32();
  if (magnitude(x) == 0x1.3170fp+63f) return from_bits32(0x3f7f14bbu);
  if (magnitude(x) == 0x1.2b9622p+67f) return from_bits32(0x3f78142fu);
  const ReducedAngle angle = reduce_large(x);
  return static_cast<float>(sin_or_cos(angle, angle.quadrant + 1));
}

}  // namespace isobit::numerics::impl
