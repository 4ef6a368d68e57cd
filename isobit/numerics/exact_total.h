// The exact sum of float32 values as 48 bytes that can be committed: equal sums have equal bytes, whatever was added in
// whatever order, so totals of parts add up to the total of the whole. (ExactAccumulator, 640 bits wide, is for
// products as well; this is what evaluations hold of every sample.)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace isobit::numerics {

class ExactTotal {
 public:
  // The numbers are those of docs/formats/evaluation.md.
  enum class Kind : uint8_t { kFinite = 0, kPositiveInfinity = 1, kNegativeInfinity = 2, kNan = 3 };

  static constexpr int kLimbs = 6;            // two's complement, least significant first
  static constexpr int kUnitExponent = -149;  // value = integer * 2^-149, the smallest float32
  static constexpr size_t kBytes = 8 * kLimbs;

  ExactTotal() = default;  // 0
  static ExactTotal of(float x) {
    ExactTotal total;
    total.add(x);
    return total;
  }

  // An infinity absorbs what is finite; NaN, and infinities of both signs, give NaN. REQUIRES fewer than 2^100 of them.
  void add(float x);
  // False, and *this unchanged, when the finite sum needs more than 384 bits: totals of float32 values never do, those
  // that a stranger claims may.
  [[nodiscard]] bool add(const ExactTotal& other);

  Kind kind() const { return kind_; }
  // Two's complement, little-endian; all zero unless the total is finite.
  std::array<uint8_t, kBytes> bytes() const;
  // Nothing for bytes that bytes() would not give.
  static std::optional<ExactTotal> from_bytes(uint8_t kind, std::span<const uint8_t, kBytes> bytes);

  // The float32 nearest to total / n, ties to even; NaN when n is 0 or above 2^63 - 1.
  float quotient(uint64_t n) const;
  // The total where it is a whole number in [0, 2^63).
  std::optional<uint64_t> whole() const;

  bool operator==(const ExactTotal&) const = default;

 private:
  std::array<uint64_t, kLimbs> limbs_{};
  Kind kind_ = Kind::kFinite;
};

}  // namespace isobit::numerics
