#include "isobit/numerics/bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace isobit::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Bits, CanonicalNan) {
  for (const uint32_t b : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffc00000u}) {
    EXPECT_EQ(bits_of(canonical(f32_from_bits(b))), 0x7fc00000u);
    EXPECT_TRUE(is_nan(f32_from_bits(b)));
    EXPECT_FALSE(is_finite(f32_from_bits(b)));
  }
  EXPECT_EQ(bits_of(canonical(f64_from_bits(0xfff8000000000001ull))), 0x7ff8000000000000ull);
  EXPECT_EQ(bits_of(canonical(-0.0f)), 0x80000000u);
  EXPECT_EQ(canonical(kInf), kInf);
}

TEST(Bits, NeighboursAgreeWithNextafter) {
  for (uint64_t i = 0; i < 1u << 16; ++i) {
    const float x = f32_from_bits(static_cast<uint32_t>(i * 65537u));
    if (is_nan(x)) continue;
    EXPECT_EQ(next_up(x), std::nextafter(x, kInf)) << x;
    EXPECT_EQ(next_down(x), std::nextafter(x, -kInf)) << x;
    const double y = f64_from_bits(i * 0x0001000100010001ull);
    if (is_nan(y)) continue;
    EXPECT_EQ(next_up(y), std::nextafter(y, HUGE_VAL)) << y;
    EXPECT_EQ(next_down(y), std::nextafter(y, -HUGE_VAL)) << y;
  }
}

TEST(Bits, UlpDistance) {
  EXPECT_EQ(ulp_distance(0.0f, -0.0f), 0u);
  EXPECT_EQ(ulp_distance(f32_from_bits(1), f32_from_bits(0x80000001u)), 2u);
  EXPECT_EQ(ulp_distance(1.0f, next_up(1.0f)), 1u);
  EXPECT_EQ(ulp_distance(-1.0f, 1.0f), 2u * 0x3f800000u);
  EXPECT_EQ(ulp_distance(std::numeric_limits<float>::max(), kInf), 1u);
  EXPECT_EQ(ulp_distance(nan_f32(), -nan_f32()), 0u);
  EXPECT_EQ(ulp_distance(nan_f32(), 1.0f), UINT64_MAX);
  EXPECT_EQ(ulp_distance(-HUGE_VAL, HUGE_VAL), 2u * 0x7ff0000000000000ull);
}

TEST(Bits, OrdinalIsMonotone) {
  EXPECT_EQ(ordinal(0.0f), 0);
  EXPECT_EQ(ordinal(-0.0f), -1);
  EXPECT_LT(ordinal(-kInf), ordinal(-1.0f));
  EXPECT_LT(ordinal(-1.0), ordinal(-0.5));
  EXPECT_LT(ordinal(1.0), ordinal(next_up(1.0)));
}

}  // namespace
}  // namespace isobit::numerics
