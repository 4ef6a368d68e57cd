// Floating-point numbers as bits, for the bodies of functions_impl.h.
#pragma once

#include <cstdint>

#include "isobit/numerics/inline.h"

namespace isobit::numerics::impl {

ISOBIT_INLINE uint32_t to_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
ISOBIT_INLINE uint64_t to_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
ISOBIT_INLINE float from_bits32(uint32_t b) { return __builtin_bit_cast(float, b); }
ISOBIT_INLINE double from_bits64(uint64_t b) { return __builtin_bit_cast(double, b); }
ISOBIT_INLINE float magnitude(float x) { return from_bits32(to_bits(x) & 0x7fffffffu); }
ISOBIT_INLINE double magnitude(double x) { return from_bits64(to_bits(x) & 0x7fffffffffffffffull); }
ISOBIT_INLINE float with_sign_of(float x, float sign) {
  return from_bits32(to_bits(x) | (to_bits(sign) & 0x80000000u));
}
ISOBIT_INLINE double with_sign_of(double x, double sign) {
  return from_bits64(to_bits(x) | (to_bits(sign) & 0x8000000000000000ull));
}
ISOBIT_INLINE float nan32() { return from_bits32(uint32_t{0x7fc00000}); }
ISOBIT_INLINE double nan64() { return from_bits64(uint64_t{0x7ff8000000000000}); }
ISOBIT_INLINE float inf32() { return from_bits32(uint32_t{0x7f800000}); }
ISOBIT_INLINE double inf64() { return from_bits64(uint64_t{0x7ff0000000000000}); }

}  // namespace isobit::numerics::impl
