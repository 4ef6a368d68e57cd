#include "isobit/numerics/remaining_precision.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bitset>
#include <limits>
#include <string>

namespace isobit::numerics {
namespace {

// The definition read out loud: compare the written bits, one after another.
int by_characters(uint64_t a, uint64_t b, FloatFormat f) {
  const int width = 1 + f.exponent_bits + f.significand_bits;
  const std::string x = std::bitset<64>(a).to_string().substr(static_cast<size_t>(64 - width));
  const std::string y = std::bitset<64>(b).to_string().substr(static_cast<size_t>(64 - width));
  const auto head = static_cast<size_t>(1 + f.exponent_bits);
  if (x.substr(0, head) != y.substr(0, head)) return 0;
  int agree = 0;
  while (agree < f.significand_bits && x[head + static_cast<size_t>(agree)] == y[head + static_cast<size_t>(agree)]) {
    ++agree;
  }
  return agree;
}

TEST(RemainingPrecision, Examples) {
  EXPECT_EQ(remaining_precision(1.0f, 1.0f), 23);
  EXPECT_EQ(remaining_precision(1.0f, next_up(1.0f)), 22);
  EXPECT_EQ(remaining_precision(1.0f, 1.5f), 0);
  EXPECT_EQ(remaining_precision(1.0f, 1.25f), 1);
  EXPECT_EQ(remaining_precision(1.0f, next_down(1.0f)), 0);  // another exponent, one ulp away
  EXPECT_EQ(remaining_precision(1.0f, -1.0f), 0);
  EXPECT_EQ(remaining_precision(1.0, 1.0), 52);
  EXPECT_EQ(remaining_precision(1.0, 1.0 + 0x1p-30), 29);
  EXPECT_EQ(remaining_precision(0x1p-149f, 0x1p-148f), 21);  // subnormals share an exponent field
  EXPECT_EQ(remaining_precision(0x3c00, 0x3c01, kFloat16Format), 9);
  EXPECT_EQ(remaining_precision(0x3f80, 0x3f80, kBfloat16Format), 7);
}

TEST(RemainingPrecision, NansInfinitiesAndZeros) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(remaining_precision(f32_from_bits(0x7fc00000), f32_from_bits(0xffc00001)), 23);
  EXPECT_EQ(remaining_precision(nan_f32(), 1.0f), 0);
  EXPECT_EQ(remaining_precision(inf, nan_f32()), 0);
  EXPECT_EQ(remaining_precision(inf, inf), 23);
  EXPECT_EQ(remaining_precision(inf, -inf), 0);
  EXPECT_EQ(remaining_precision(inf, std::numeric_limits<float>::max()), 0);
  EXPECT_EQ(remaining_precision(0.0f, -0.0f), 23);
  EXPECT_EQ(remaining_precision(0.0f, 0x1p-149f), 22);
}

RC_GTEST_PROP(RemainingPrecision, IsTheDefinition, (uint32_t a, uint32_t flips)) {
  // Near numbers are the interesting ones: flip low bits more often than high ones.
  const uint32_t b = a ^ flips >> (flips & 31);
  RC_PRE(!is_nan(a, kFloat32Format) && !is_nan(b, kFloat32Format));
  RC_PRE(((a | b) & 0x7fffffffu) != 0);
  RC_ASSERT(remaining_precision(uint64_t{a}, uint64_t{b}, kFloat32Format) == by_characters(a, b, kFloat32Format));
}

RC_GTEST_PROP(RemainingPrecision, IsSymmetricAndFullForEqualBits, (uint64_t a, uint64_t b)) {
  RC_ASSERT(remaining_precision(a, b, kFloat64Format) == remaining_precision(b, a, kFloat64Format));
  RC_ASSERT(remaining_precision(a, a, kFloat64Format) == 52);
}

RC_GTEST_PROP(UlpDistance, OfBitsIsThatOfNumbers, (uint32_t a, uint32_t b, uint64_t c, uint64_t d)) {
  RC_ASSERT(ulp_distance(uint64_t{a}, uint64_t{b}, kFloat32Format) == ulp_distance(f32_from_bits(a), f32_from_bits(b)));
  RC_ASSERT(ulp_distance(c, d, kFloat64Format) == ulp_distance(f64_from_bits(c), f64_from_bits(d)));
}

TEST(UlpDistance, OfEveryPairOfNeighboursInFloat16) {
  for (uint64_t a = 0; a < 0x7c00; ++a) {
    ASSERT_EQ(ulp_distance(a, a + 1, kFloat16Format), 1u);
    ASSERT_EQ(ulp_distance(a | 0x8000, (a + 1) | 0x8000, kFloat16Format), 1u);
  }
  EXPECT_EQ(ulp_distance(0x0000, 0x8000, kFloat16Format), 0u);
  EXPECT_EQ(ulp_distance(0x0001, 0x8001, kFloat16Format), 2u);
  EXPECT_EQ(ulp_distance(0x7e00, 0xfe01, kFloat16Format), 0u);
  EXPECT_EQ(ulp_distance(0x7e00, 0x3c00, kFloat16Format), UINT64_MAX);
}

}  // namespace
}  // namespace isobit::numerics
