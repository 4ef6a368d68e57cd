#include "isobit/numerics/exact_total.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

float any_float(std::mt19937_64& random) {
  for (;;) {
    const float x = f32_from_bits(static_cast<uint32_t>(random()));
    if (is_finite(x)) return x;
  }
}

TEST(ExactTotal, AgreesWithTheAccumulatorInAnyOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> values(1 + random() % 40);
    for (float& x : values) x = any_float(random);
    if (random() % 3 == 0) values.push_back(-values.front());  // cancels
    ExactTotal total, parts;
    ExactAccumulator accumulator;
    for (float x : values) {
      total.add(x);
      accumulator.add(x);
    }
    std::shuffle(values.begin(), values.end(), random);
    ExactTotal half;
    for (size_t i = 0; i < values.size(); ++i) (i % 2 == 0 ? half : parts).add(values[i]);
    ASSERT_TRUE(parts.add(half));
    EXPECT_EQ(parts, total);
    EXPECT_EQ(parts.bytes(), total.bytes());
    const auto n = static_cast<int64_t>(1 + random() % 1000);
    EXPECT_EQ(bits_of(total.quotient(static_cast<uint64_t>(n))), bits_of(accumulator.rounded_quotient(n)));
  }
}

TEST(ExactTotal, EveryBitOfAFloatSurvives) {
  for (float x :
       {0.0f, -0.0f, 1.0f, -1.0f, 0x1p-149f, -0x1p-149f, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p-126f, 0.1f}) {
    EXPECT_EQ(bits_of(ExactTotal::of(x).quotient(1)), bits_of(x == 0 ? 0.0f : x)) << x;
  }
  for (int e = -149; e <= 127; ++e) {
    const float x = std::ldexp(1.0f, e);
    EXPECT_EQ(ExactTotal::of(x).quotient(1), x);
    EXPECT_EQ(ExactTotal::of(-x).quotient(1), -x);
  }
}

TEST(ExactTotal, InfinitiesAndNan) {
  using Kind = ExactTotal::Kind;
  ExactTotal total = ExactTotal::of(3);
  total.add(kInf);
  EXPECT_EQ(total.kind(), Kind::kPositiveInfinity);
  total.add(1);
  EXPECT_EQ(total, ExactTotal::of(kInf)) << "nothing is left of what was finite";
  total.add(-kInf);
  EXPECT_EQ(total.kind(), Kind::kNan);
  total.add(kInf);
  EXPECT_EQ(total.kind(), Kind::kNan);
  EXPECT_EQ(total, ExactTotal::of(nan_f32()));
  EXPECT_TRUE(std::isnan(total.quotient(1)));
  EXPECT_EQ(ExactTotal::of(-kInf).quotient(5), -kInf);
  EXPECT_TRUE(std::isnan(ExactTotal::of(1).quotient(0)));
}

TEST(ExactTotal, BytesAreCanonical) {
  std::array<uint8_t, ExactTotal::kBytes> bytes = ExactTotal::of(-1.5f).bytes();
  EXPECT_EQ(ExactTotal::from_bytes(0, bytes), ExactTotal::of(-1.5f));
  for (uint8_t kind : {1, 2, 3, 4, 255}) EXPECT_FALSE(ExactTotal::from_bytes(kind, bytes));
  bytes.fill(0);
  for (uint8_t kind : {0, 1, 2, 3}) EXPECT_TRUE(ExactTotal::from_bytes(kind, bytes));
  EXPECT_FALSE(ExactTotal::from_bytes(4, bytes));
  // 1 = 2^149 units: bit 5 of byte 18.
  bytes[18] = 0x20;
  EXPECT_EQ(ExactTotal::from_bytes(0, bytes), ExactTotal::of(1));
}

TEST(ExactTotal, AClaimThatOverflowsIsNoSum) {
  std::array<uint8_t, ExactTotal::kBytes> most;
  most.fill(0xff);
  most.back() = 0x7f;
  ExactTotal total = *ExactTotal::from_bytes(0, most);
  const ExactTotal before = total;
  EXPECT_FALSE(total.add(ExactTotal::of(0x1p-149f)));
  EXPECT_EQ(total, before);
  std::array<uint8_t, ExactTotal::kBytes> least{};
  least.back() = 0x80;
  ExactTotal low = *ExactTotal::from_bytes(0, least);
  EXPECT_FALSE(low.add(ExactTotal::of(-0x1p-149f)));
  EXPECT_TRUE(low.add(total));
  EXPECT_EQ(low, ExactTotal::of(-0x1p-149f));
}

TEST(ExactTotal, WholeNumbers) {
  ExactTotal hits;
  for (int i = 0; i < 350; ++i) hits.add(1);
  EXPECT_EQ(hits.whole(), 350u);
  EXPECT_EQ(ExactTotal().whole(), 0u);
  EXPECT_EQ(ExactTotal::of(0x1p62f).whole(), uint64_t{1} << 62);
  for (float x : {-1.0f, 0.5f, 0x1p63f, 0x1p-149f, kInf, nan_f32()}) EXPECT_FALSE(ExactTotal::of(x).whole()) << x;
}

}  // namespace
}  // namespace isobit::numerics
