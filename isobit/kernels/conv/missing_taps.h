// Taps that meet no place of the plane (conv.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "isobit/numerics/bits.h"

namespace isobit::kernels {

// Whether leaving such taps out changes no bit: all `count` weights are finite. The product of +0 and any other is NaN.
template <class T>
bool may_skip_missing_taps(const T* weights, int64_t count) {
  // A block at a time without a branch: the sum of an exponent of ones and one carries into the sign.
  constexpr int64_t kBlock = 4096;
  using Bits = decltype(numerics::bits_of(T{}));
  constexpr Bits kExponent = numerics::bits_of(std::numeric_limits<T>::infinity());
  constexpr Bits kOne = kExponent & (~kExponent << 1);
  for (int64_t i = 0; i < count; i += kBlock) {
    const T *const begin = weights + i, *const end = weights + std::min(count, i + kBlock);
    Bits carries = 0;
    for (const T* weight = begin; weight < end; ++weight) carries |= (numerics::bits_of(*weight) & kExponent) + kOne;
    if (carries >> (8 * sizeof(T) - 1)) return false;
  }
  return true;
}

}  // namespace isobit::kernels
