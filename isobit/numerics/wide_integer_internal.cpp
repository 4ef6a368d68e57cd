#include "isobit/numerics/wide_integer_internal.h"

#include <algorithm>
#include <bit>

#include "isobit/base/status.h"
#include "isobit/numerics/bits.h"

namespace isobit::numerics::internal {
namespace {

__extension__ typedef unsigned __int128 Wide;

bool bit_at(const uint64_t* a, int i) { return a[i / 64] >> (i % 64) & 1; }

bool any_below(const uint64_t* a, int position) {
  for (int i = 0; i < position / 64; ++i) {
    if (a[i] != 0) return true;
  }
  return position % 64 != 0 && (a[position / 64] & ((uint64_t{1} << (position % 64)) - 1)) != 0;
}

}  // namespace

void negate(uint64_t* a, int n) {
  bool carry = true;
  for (int i = 0; i < n; ++i) {
    a[i] = ~a[i] + (carry ? 1 : 0);
    carry = carry && a[i] == 0;
  }
}

void subtract(uint64_t* a, const uint64_t* b, int n) {
  uint64_t borrow = 0;
  for (int i = 0; i < n; ++i) {
    const Wide difference = static_cast<Wide>(a[i]) - b[i] - borrow;
    a[i] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) & 1;
  }
  ISOBIT_CHECK(borrow == 0);
}

void multiply(uint64_t* a, int n, uint64_t m) {
  uint64_t carry = 0;
  for (int i = 0; i < n; ++i) {
    const Wide product = static_cast<Wide>(a[i]) * m + carry;
    a[i] = static_cast<uint64_t>(product);
    carry = static_cast<uint64_t>(product >> 64);
  }
  ISOBIT_CHECK(carry == 0);
}

void square(const uint64_t* a, int n, uint64_t* out) {
  std::fill(out, out + 2 * n, 0);
  for (int i = 0; i < n; ++i) {
    uint64_t carry = 0;
    for (int j = 0; j < n; ++j) {
      const Wide sum = static_cast<Wide>(a[i]) * a[j] + out[i + j] + carry;
      out[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    out[i + n] = carry;
  }
}

void shift_right(uint64_t* a, int n, int shift) {
  const int limbs = shift / 64, bits = shift % 64;
  for (int i = 0; i < n; ++i) {
    const uint64_t low = i + limbs < n ? a[i + limbs] : 0;
    const uint64_t high = i + limbs + 1 < n ? a[i + limbs + 1] : 0;
    a[i] = bits == 0 ? low : low >> bits | high << (64 - bits);
  }
}

uint64_t divide(uint64_t* a, int n, uint64_t d) {
  uint64_t remainder = 0;
  for (int i = n - 1; i >= 0; --i) {
    const Wide dividend = static_cast<Wide>(remainder) << 64 | a[i];
    a[i] = static_cast<uint64_t>(dividend / d);
    remainder = static_cast<uint64_t>(dividend % d);
  }
  return remainder;
}

float round_to_f32(const uint64_t* a, int n, int unit_exponent, bool rest, bool negative) {
  int top = 64 * n - 1;
  while (top >= 0 && !bit_at(a, top)) --top;
  if (top < 0 && !rest) return 0.0f;
  const uint32_t sign = negative ? 0x80000000u : 0;
  if (top < 0) return f32_from_bits(sign);
  if (top + unit_exponent > 127) return f32_from_bits(sign | 0x7f800000u);
  const int last = std::max(top + unit_exponent - 23, -149);  // exponent of the result's last place
  const int cut = last - unit_exponent;                       // the bits below this one go
  ISOBIT_CHECK(cut >= 3);
  uint32_t significand = 0;
  for (int i = top; i >= cut; --i) significand = significand << 1 | (bit_at(a, i) ? 1 : 0);
  const bool half = bit_at(a, cut - 1);
  const bool below_half = rest || any_below(a, cut - 1);
  if (half && (below_half || (significand & 1))) ++significand;
  // significand * 2^last by bits: a carry out of the significand moves on into the exponent field, up to infinity.
  return f32_from_bits(sign | ((static_cast<uint32_t>(last + 149) << 23) + significand));
}

}  // namespace isobit::numerics::internal
