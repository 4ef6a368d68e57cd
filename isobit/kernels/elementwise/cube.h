// The cube, for loops of any instruction set. Nothing here has linkage.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels {

// x^3, the float32 nearest to it: x^2 is exact in float64, and its two halves make two exact products, whose sum is
// rounded to odd before it is narrowed (numerics/fma.h says why). Infinities are their own cubes; NaN is canonical.
ISOBIT_INLINE float cube_rounded(float x) {
  const double wide = static_cast<double>(x), square = wide * wide;
  const double shifted = square * 0x1.0000002p+27;  // 2^27 + 1: the upper 26 bits by T. J. Dekker, 1971
  const double high = shifted - (shifted - square);
  const double leading = high * wide, rest = (square - high) * wide;
  const double sum = leading + rest, error = rest - (sum - leading);
  int64_t bits = __builtin_bit_cast(int64_t, sum);
  bits = error * sum < 0 ? bits - 1 : bits;
  bits = error != 0 ? bits | 1 : bits;
  const float cube = static_cast<float>(__builtin_bit_cast(double, bits));
  const float other = x == x ? x : numerics::impl::nan32();
  return numerics::impl::magnitude(x) < numerics::impl::inf32() ? cube : other;
}

}  // namespace isobit::kernels
