#include "isobit/numerics/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace isobit::numerics {
namespace {

// The nearest of the format by going through all of it.
template <class Half>
uint16_t nearest_by_search(double x, uint16_t infinity) {
  const double magnitude = std::abs(x);
  uint16_t low = 0, high = infinity;  // low <= magnitude < high, infinity standing where the next number would be
  const auto value = [&](uint16_t bits) {
    if (bits < infinity) return static_cast<double>(widened(Half{bits}));
    const double last = static_cast<double>(widened(Half{static_cast<uint16_t>(infinity - 1)}));
    return last + (last - static_cast<double>(widened(Half{static_cast<uint16_t>(infinity - 2)})));
  };
  if (magnitude >= value(infinity)) {
    low = infinity;
  } else {
    while (high - low > 1) {
      const auto middle = static_cast<uint16_t>((low + high) / 2);
      (value(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - value(low), above = value(high) - magnitude;  // exact, or far from equal
    if (above < below || (above == below && low % 2 == 1)) low = high;
  }
  return static_cast<uint16_t>(low | (std::signbit(x) ? 0x8000 : 0));
}

TEST(Half, WideningThenRoundingGivesEveryNumberBack) {
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const Float16 f{static_cast<uint16_t>(b)};
    const Bfloat16 g{static_cast<uint16_t>(b)};
    const bool nan16 = (b & 0x7fff) > 0x7c00, nan_b = (b & 0x7fff) > 0x7f80;
    EXPECT_EQ(rounded_to_float16(widened(f)).bits, nan16 ? kNanBitsF16 : b) << b;
    EXPECT_EQ(rounded_to_bfloat16(widened(g)).bits, nan_b ? kNanBitsBf16 : b) << b;
    EXPECT_EQ(std::isnan(widened(f)), nan16);
    EXPECT_EQ(std::isnan(widened(g)), nan_b);
    // IEEE 754: (1 + significand / 2^10) * 2^(exponent - 15), and significand * 2^-24 without an exponent.
    if (nan16 || (b & 0x7c00) == 0x7c00) continue;
    const int exponent = static_cast<int>(b >> 10 & 31), significand = static_cast<int>(b & 0x3ff);
    const double magnitude =
        exponent == 0 ? std::ldexp(significand, -24) : std::ldexp(1024 + significand, exponent - 25);
    EXPECT_EQ(static_cast<double>(widened(f)), b >> 15 != 0 ? -magnitude : magnitude) << b;
  }
}

TEST(Half, Known) {
  EXPECT_EQ(rounded_to_float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(rounded_to_float16(-2.0f).bits, 0xc000);
  EXPECT_EQ(rounded_to_float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(rounded_to_float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(rounded_to_float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(rounded_to_float16(0x1p-25f).bits, 0);    // a tie, zero is even
  EXPECT_EQ(rounded_to_float16(0x1.8p-24f).bits, 2);  // a tie between 1 and 2
  EXPECT_EQ(rounded_to_float16(-0x1p-149f).bits, 0x8000);
  EXPECT_EQ(rounded_to_float16(-0.0).bits, 0x8000);
  EXPECT_EQ(rounded_to_float16(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(rounded_to_bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(rounded_to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(rounded_to_bfloat16(f32_from_bits(0xffc01234)).bits, kNanBitsBf16);
}

TEST(Half, RoundsToTheNearestOfFloat32) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float x = f32_from_bits(static_cast<uint32_t>(random()));
    if (is_nan(x) || !is_finite(x)) continue;
    ASSERT_EQ(rounded_to_bfloat16(x).bits, nearest_by_search<Bfloat16>(x, 0x7f80)) << x;
  }
  // Everywhere that float16 has numbers, and around each of its ties.
  for (uint32_t b = 0; b < 0x7c00; ++b) {
    const float low = widened(Float16{static_cast<uint16_t>(b)});
    const float next = b + 1 < 0x7c00 ? widened(Float16{static_cast<uint16_t>(b + 1)}) : 65536.0f;
    const float tie = low + (next - low) / 2;
    for (const float x : {low, next_up(low), next_down(tie), tie, next_up(tie), next_down(next)}) {
      ASSERT_EQ(rounded_to_float16(x).bits, nearest_by_search<Float16>(x, 0x7c00)) << x;
      ASSERT_EQ(rounded_to_float16(-x).bits, nearest_by_search<Float16>(-x, 0x7c00)) << x;
    }
  }
}

// What lies off a tie by less than float32 can say is not a tie.
TEST(Half, Float64IsRoundedOnce) {
  for (uint32_t b = 0; b + 1 < 0x7c00; ++b) {
    const double low = static_cast<double>(widened(Float16{static_cast<uint16_t>(b)}));
    const double tie = low + (static_cast<double>(widened(Float16{static_cast<uint16_t>(b + 1)})) - low) / 2;
    for (const double x : {next_down(tie), tie, next_up(tie)}) {
      ASSERT_EQ(rounded_to_float16(x).bits, nearest_by_search<Float16>(x, 0x7c00)) << x;
    }
  }
  for (uint32_t b = 0; b + 1 < 0x7f80; ++b) {
    const double low = static_cast<double>(widened(Bfloat16{static_cast<uint16_t>(b)}));
    const double tie = low + (static_cast<double>(widened(Bfloat16{static_cast<uint16_t>(b + 1)})) - low) / 2;
    for (const double x : {next_down(tie), tie, next_up(tie)}) {
      ASSERT_EQ(rounded_to_bfloat16(-x).bits, nearest_by_search<Bfloat16>(-x, 0x7f80)) << x;
    }
  }
}

}  // namespace
}  // namespace isobit::numerics
