// A fixed-point number wide enough for any sum of float32 values and of products of two float32 values: nothing is ever
// rounded until rounded() is asked for. 640 bits, unit 2^-298 (the smallest product), room for 2^63 products of the
// largest.
#pragma once

#include <array>
#include <cstdint>

namespace isobit::numerics {

class ExactAccumulator {
 public:
  static constexpr int kLimbs = 10;           // 64 bits each, two's complement, least significant first
  static constexpr int kUnitExponent = -298;  // value = integer * 2^-298
  using Limbs = std::array<uint64_t, kLimbs>;

  // What is left of the finite value once NaN or an infinity has been added. Any NaN, 0 * inf, or inf - inf: kNan.
  enum class Special : uint8_t { kNone = 0, kPositiveInfinity = 1, kNegativeInfinity = 2, kNan = 3 };

  ExactAccumulator() = default;

  void add(float x);
  void add_product(float a, float b);
  void add(const ExactAccumulator& other);  // merging partial sums: exact, so any tree gives the same value
  void subtract(const ExactAccumulator& other);

  // The float32 nearest to the exact value, ties to even: exact zero is +0, overflow is an infinity, a nonzero value
  // that underflows keeps its sign, NaN is 0x7fc00000.
  float rounded() const;

  // The float32 nearest to (exact value) / n, rounded once. REQUIRES n >= 1.
  float rounded_quotient(int64_t n) const;

  // -1, 0, 1. REQUIRES special() == kNone.
  int sign() const;
  bool is_zero() const;  // finite and exactly zero
  Special special() const { return special_; }

  // Canonical: equal values have equal limbs. With a special value the limbs are zero.
  Limbs limbs() const;
  static ExactAccumulator from_limbs(const Limbs& limbs, Special special);

  // Value equality (any NaN equals any NaN).
  friend bool operator==(const ExactAccumulator& a, const ExactAccumulator& b) {
    return a.special_ == b.special_ && (a.special_ != Special::kNone || a.limbs() == b.limbs());
  }

 private:
  static constexpr int kDigits = 2 * kLimbs;
  void add_special(Special s);
  void propagate();

  // Digits of 32 bits kept in 64 (carries are settled every 2^30 additions).
  std::array<int64_t, kDigits> digits_{};
  uint32_t pending_ = 0;
  Special special_ = Special::kNone;
};

}  // namespace isobit::numerics
