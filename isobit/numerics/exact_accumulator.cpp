#include "isobit/numerics/exact_accumulator.h"

#include "isobit/base/status.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/wide_integer_internal.h"

namespace isobit::numerics {
namespace {

// Each addition changes a digit by less than 2^32.
constexpr uint32_t kMaxPending = uint32_t{1} << 30;

// |x| = significand * 2^(exponent - 150), x finite.
struct FloatParts {
  uint64_t significand;
  int exponent;
  bool negative;
};

FloatParts parts_of(float x) {
  const uint32_t b = bits_of(x);
  const int field = static_cast<int>(b >> 23 & 0xff);
  const uint64_t fraction = b & 0x7fffffu;
  return field == 0 ? FloatParts{fraction, 1, b >> 31 != 0} : FloatParts{fraction | 0x800000u, field, b >> 31 != 0};
}

}  // namespace

void ExactAccumulator::add(float x) {
  if (!is_finite(x)) {
    add_special(is_nan(x) ? Special::kNan : x > 0 ? Special::kPositiveInfinity : Special::kNegativeInfinity);
    return;
  }
  const FloatParts p = parts_of(x);
  const int position = p.exponent - 150 - kUnitExponent;
  const uint64_t shifted = p.significand << (position % 32);
  const int64_t low = static_cast<int64_t>(shifted & 0xffffffffu);
  const int64_t high = static_cast<int64_t>(shifted >> 32);
  int64_t* d = &digits_[static_cast<size_t>(position / 32)];
  d[0] += p.negative ? -low : low;
  d[1] += p.negative ? -high : high;
  if (++pending_ == kMaxPending) propagate();
}

void ExactAccumulator::add_product(float a, float b) {
  if (!is_finite(a) || !is_finite(b)) {
    const float product = a * b;  // an infinity with its sign, or NaN
    add_special(is_nan(product) ? Special::kNan
                : product > 0   ? Special::kPositiveInfinity
                                : Special::kNegativeInfinity);
    return;
  }
  const FloatParts p = parts_of(a), q = parts_of(b);
  const uint64_t product = p.significand * q.significand;  // 48 bits
  const int position = p.exponent + q.exponent - 300 - kUnitExponent;
  const int shift = position % 32;
  const uint64_t lower = (product & 0xffffffffu) << shift;
  const uint64_t upper = ((product >> 32) << shift) + (lower >> 32);
  const int64_t d0 = static_cast<int64_t>(lower & 0xffffffffu);
  const int64_t d1 = static_cast<int64_t>(upper & 0xffffffffu);
  const int64_t d2 = static_cast<int64_t>(upper >> 32);
  const bool negative = p.negative != q.negative;
  int64_t* d = &digits_[static_cast<size_t>(position / 32)];
  d[0] += negative ? -d0 : d0;
  d[1] += negative ? -d1 : d1;
  d[2] += negative ? -d2 : d2;
  if (++pending_ == kMaxPending) propagate();
}

void ExactAccumulator::add(const ExactAccumulator& other) {
  if (other.special_ != Special::kNone) add_special(other.special_);
  ExactAccumulator settled = other;
  settled.propagate();
  for (size_t i = 0; i < kDigits; ++i) digits_[i] += settled.digits_[i];
  if (++pending_ == kMaxPending) propagate();
}

void ExactAccumulator::subtract(const ExactAccumulator& other) {
  ExactAccumulator negated = other;
  for (int64_t& d : negated.digits_) d = -d;
  if (other.special_ == Special::kPositiveInfinity) negated.special_ = Special::kNegativeInfinity;
  if (other.special_ == Special::kNegativeInfinity) negated.special_ = Special::kPositiveInfinity;
  add(negated);
}

void ExactAccumulator::add_special(Special s) {
  special_ = special_ == Special::kNone || special_ == s ? s : Special::kNan;
}

void ExactAccumulator::propagate() {
  for (size_t i = 0; i + 1 < kDigits; ++i) {
    digits_[i + 1] += digits_[i] >> 32;
    digits_[i] &= 0xffffffff;
  }
  pending_ = 0;
}

ExactAccumulator::Limbs ExactAccumulator::limbs() const {
  Limbs out{};
  if (special_ != Special::kNone) return out;
  ExactAccumulator settled = *this;
  settled.propagate();
  for (size_t i = 0; i < kLimbs; ++i) {
    out[i] = static_cast<uint64_t>(settled.digits_[2 * i]) | static_cast<uint64_t>(settled.digits_[2 * i + 1]) << 32;
  }
  return out;
}

ExactAccumulator ExactAccumulator::from_limbs(const Limbs& limbs, Special special) {
  ExactAccumulator a;
  a.special_ = special;
  if (special != Special::kNone) return a;
  for (size_t i = 0; i < kLimbs; ++i) {
    a.digits_[2 * i] = static_cast<int64_t>(limbs[i] & 0xffffffffu);
    a.digits_[2 * i + 1] = static_cast<int64_t>(limbs[i] >> 32);
  }
  // The top digit carries the sign.
  a.digits_[kDigits - 1] = static_cast<int32_t>(static_cast<uint32_t>(limbs[kLimbs - 1] >> 32));
  return a;
}

int ExactAccumulator::sign() const {
  ISOBIT_CHECK(special_ == Special::kNone);
  ExactAccumulator settled = *this;
  settled.propagate();
  if (settled.digits_[kDigits - 1] < 0) return -1;
  for (const int64_t d : settled.digits_) {
    if (d != 0) return 1;
  }
  return 0;
}

bool ExactAccumulator::is_zero() const { return special_ == Special::kNone && sign() == 0; }

float ExactAccumulator::rounded() const { return rounded_quotient(1); }

float ExactAccumulator::rounded_quotient(int64_t n) const {
  ISOBIT_CHECK(n >= 1);
  switch (special_) {
    case Special::kNan:
      return nan_f32();
    case Special::kPositiveInfinity:
      return f32_from_bits(0x7f800000u);
    case Special::kNegativeInfinity:
      return f32_from_bits(0xff800000u);
    case Special::kNone:
      break;
  }
  Limbs magnitude = limbs();
  const bool negative = magnitude[kLimbs - 1] >> 63 != 0;
  if (negative) internal::negate(magnitude.data(), kLimbs);
  const bool rest = n > 1 && internal::divide(magnitude.data(), kLimbs, static_cast<uint64_t>(n)) != 0;
  return internal::round_to_f32(magnitude.data(), kLimbs, kUnitExponent, rest, negative);
}

}  // namespace isobit::numerics
