// Unsigned integers of several 64-bit limbs, least significant first; what the exact sums need and no more.
#pragma once

#include <cstdint>

namespace isobit::numerics::internal {

// a = -a modulo 2^(64 n).
void negate(uint64_t* a, int n);
// a = a - b. REQUIRES a >= b.
void subtract(uint64_t* a, const uint64_t* b, int n);
// a = a * m. REQUIRES that it fits.
void multiply(uint64_t* a, int n, uint64_t m);
// out (2n limbs) = a * a.
void square(const uint64_t* a, int n, uint64_t* out);
// a = a >> shift. REQUIRES 0 <= shift < 64 n.
void shift_right(uint64_t* a, int n, int shift);
// a = floor(a / d); returns the remainder. REQUIRES d >= 1.
uint64_t divide(uint64_t* a, int n, uint64_t d);

// The float32 nearest (ties to even) to +-(a + r) * 2^unit_exponent, 0 <= r < 1, r > 0 iff rest. a = 0 without rest is
// +0; a nonzero value that underflows keeps its sign. REQUIRES unit_exponent <= -152, so that r never reaches a
// rounding bit.
float round_to_f32(const uint64_t* a, int n, int unit_exponent, bool rest, bool negative);

}  // namespace isobit::numerics::internal
