// The b-bit values in their order (round_to_bits.h): which one is next to which. Exact integer arithmetic.
#pragma once

#include <cstdint>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::rounding {

// The place of a b-bit value: 0 for both zeros, 1 for the smallest subnormal, and so on; infinity follows the largest
// finite value, and the place of -x is minus that of x. REQUIRES value a b-bit value, infinities included; not NaN.
ISOBIT_INLINE constexpr int64_t place_of(double value, int bits) {
  const uint32_t all = numerics::bits_of(static_cast<float>(value));
  const auto magnitude = static_cast<int64_t>((all & 0x7fffffffu) >> (32 - bits));
  return all >> 31 ? -magnitude : magnitude;
}

// The value at a place; +0 at 0. REQUIRES |place| <= place_of(infinity, bits).
ISOBIT_INLINE constexpr double value_at(int64_t place, int bits) {
  const auto magnitude = static_cast<uint32_t>(place < 0 ? -place : place) << (32 - bits);
  return static_cast<double>(numerics::f32_from_bits(magnitude | (place < 0 ? 0x80000000u : 0u)));
}

// The next b-bit value above or below; +0 for zero. Beyond infinity there is nothing but infinity. REQUIRES as
// place_of.
ISOBIT_INLINE constexpr double neighbour(double value, bool up, int bits) {
  const int64_t place = place_of(value, bits), last = int64_t{0x7f800000} >> (32 - bits);
  const int64_t next = place + (up ? 1 : -1);
  return value_at(next > last ? last : next < -last ? -last : next, bits);
}

}  // namespace isobit::kernels::rounding
