#include "isobit/numerics/exact_total.h"

#include <cstring>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::numerics {
namespace {

using Kind = ExactTotal::Kind;
using Limbs = std::array<uint64_t, ExactTotal::kLimbs>;

bool negative(const Limbs& limbs) { return limbs.back() >> 63 != 0; }

Limbs sum_of(const Limbs& a, const Limbs& b) {
  Limbs out;
  uint64_t carry = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t partial = a[i] + b[i];
    out[i] = partial + carry;
    carry = (partial < a[i] ? 1u : 0u) | (out[i] < partial ? 1u : 0u);
  }
  return out;
}

Limbs negated(const Limbs& limbs) {
  Limbs out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = ~limbs[i];
  return sum_of(out, Limbs{1});
}

Kind kind_of(float x) {
  if (is_finite(x)) return Kind::kFinite;
  return is_nan(x) ? Kind::kNan : x > 0 ? Kind::kPositiveInfinity : Kind::kNegativeInfinity;
}

// |x| in units of 2^-149 with its sign: the significand shifted by the exponent. REQUIRES x finite.
Limbs limbs_of(float x) {
  const uint32_t b = bits_of(x);
  const uint32_t field = b >> 23 & 0xff, fraction = b & 0x7fffffu;
  const uint64_t significand = field == 0 ? fraction : fraction | 0x800000u;
  const uint32_t shift = field == 0 ? 0 : field - 1;
  Limbs out{};
  out[shift / 64] = significand << shift % 64;
  if (shift % 64 > 40) out[shift / 64 + 1] = significand >> (64 - shift % 64);
  return b >> 31 != 0 ? negated(out) : out;
}

}  // namespace

void ExactTotal::add(float x) {
  const Kind kind = kind_of(x);
  ExactTotal one;
  one.kind_ = kind;
  if (kind == Kind::kFinite) one.limbs_ = limbs_of(x);
  (void)add(one);
}

bool ExactTotal::add(const ExactTotal& other) {
  if (kind_ != Kind::kFinite || other.kind_ != Kind::kFinite) {
    const bool both = kind_ != Kind::kFinite && other.kind_ != Kind::kFinite;
    kind_ = both && kind_ != other.kind_ ? Kind::kNan : kind_ != Kind::kFinite ? kind_ : other.kind_;
    limbs_ = {};
    return true;
  }
  const Limbs out = sum_of(limbs_, other.limbs_);
  if (negative(limbs_) == negative(other.limbs_) && negative(out) != negative(limbs_)) return false;
  limbs_ = out;
  return true;
}

std::array<uint8_t, ExactTotal::kBytes> ExactTotal::bytes() const {
  std::array<uint8_t, kBytes> out;
  std::memcpy(out.data(), limbs_.data(), kBytes);
  return out;
}

std::optional<ExactTotal> ExactTotal::from_bytes(uint8_t kind, std::span<const uint8_t, kBytes> bytes) {
  if (kind > static_cast<uint8_t>(Kind::kNan)) return std::nullopt;
  ExactTotal total;
  total.kind_ = static_cast<Kind>(kind);
  std::memcpy(total.limbs_.data(), bytes.data(), kBytes);
  if (total.kind_ != Kind::kFinite && total.limbs_ != Limbs{}) return std::nullopt;
  return total;
}

float ExactTotal::quotient(uint64_t n) const {
  if (n == 0 || n >> 63 != 0) return nan_f32();
  // The same value in the accumulator's unit, 2^-298: 149 = 2 * 64 + 21 places up.
  static_assert(kUnitExponent - ExactAccumulator::kUnitExponent == 149);
  ExactAccumulator::Limbs wide;
  const uint64_t sign = negative(limbs_) ? ~uint64_t{0} : 0;
  const auto limb = [&](size_t i) { return i < 2 ? 0 : i - 2 < kLimbs ? limbs_[i - 2] : sign; };
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = limb(i) << 21 | (i == 0 ? 0 : limb(i - 1) >> 43);
  return ExactAccumulator::from_limbs(wide, static_cast<ExactAccumulator::Special>(kind_))
      .rounded_quotient(static_cast<int64_t>(n));
}

std::optional<uint64_t> ExactTotal::whole() const {
  // An integer v is v * 2^149: two limbs and 21 bits of zeros below it.
  if (kind_ != Kind::kFinite || negative(limbs_) || limbs_[0] != 0 || limbs_[1] != 0 || limbs_[2] << 43 != 0 ||
      limbs_[3] >> 20 != 0 || limbs_[4] != 0 || limbs_[5] != 0) {
    return std::nullopt;
  }
  return limbs_[2] >> 21 | limbs_[3] << 43;
}

}  // namespace isobit::numerics
