#include "isobit/numerics/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::numerics {
namespace {

// The known answers published with the generator (Random123, kat_vectors, philox4x32 10).
TEST(Philox, PublishedVectors) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, Packing) {
  const Stream s{0x299f31d0a4093822ull, static_cast<Purpose>(0x03707344), 0x13198a2e};
  EXPECT_EQ(random_block(s, 0x85a308d3243f6a88ull), (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(random_u32(s, 0x85a308d3243f6a88ull % (1ull << 62) * 4 + 2),
            random_block(s, 0x85a308d3243f6a88ull % (1ull << 62))[2]);
  EXPECT_EQ(random_u64(s, 0x85a308d3243f6a88ull), 0x94fdccebd16cfe09ull);
}

TEST(Philox, UniformIsInRangeAndFillAgrees) {
  EXPECT_EQ(uniform_f32_of(0), 0.0f);
  EXPECT_EQ(uniform_f32_of(~0u), 0x1.fffffep-1f);
  const Stream s{7, Purpose::kTest, 3};
  for (const uint64_t first : {0u, 1u, 2u, 3u, 1001u}) {
    for (const int64_t n : {0, 1, 2, 5, 64}) {
      std::vector<float> u(static_cast<size_t>(n)), z(static_cast<size_t>(n));
      fill_uniform_f32(s, first, u.data(), n);
      fill_normal_f32(s, first, z.data(), n);
      for (size_t i = 0; i < u.size(); ++i) {
        EXPECT_EQ(bits_of(u[i]), bits_of(random_uniform_f32(s, first + i)));
        EXPECT_EQ(bits_of(z[i]), bits_of(random_normal_f32(s, first + i)));
      }
    }
  }
}

TEST(Philox, NormalFollowsItsWrittenSequence) {
  const Stream s{42, Purpose::kInitialWeights, 5};
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint32_t a = random_u32(s, i / 2 * 2), b = random_u32(s, i / 2 * 2 + 1);
    const float u = static_cast<float>((a >> 8) + 1) * 0x1p-24f;
    const float r = cr_sqrt(-2.0f * cr_log(u));
    const float t = static_cast<float>(b >> 8) * 0x1p-24f * 0x1.921fb6p+2f;
    EXPECT_EQ(bits_of(random_normal_f32(s, i)), bits_of(i % 2 ? r * cr_sin(t) : r * cr_cos(t)));
  }
}

TEST(Philox, NormalMoments) {
  const int n = 1 << 18;
  std::vector<float> z(n);
  fill_normal_f32({1, Purpose::kTest, 0}, 0, z.data(), n);
  double m1 = 0, m2 = 0, m4 = 0;
  for (const float v : z) {
    m1 += v;
    m2 += static_cast<double>(v) * v;
    m4 += std::pow(v, 4);
  }
  EXPECT_NEAR(m1 / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(m2 / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(m4 / n, 3, 5 * std::sqrt(96.0 / n));
}

TEST(Philox, BelowCoversItsRangeEvenly) {
  const Stream s{9, Purpose::kCrop, 0};
  std::vector<int> counts(9);
  for (uint64_t i = 0; i < 90000; ++i) ++counts[random_below(s, i, 9)];
  for (const int c : counts) EXPECT_NEAR(c, 10000, 500);
  EXPECT_EQ(random_below(s, 5, 1), 0u);
  EXPECT_LT(random_below(s, 5, UINT64_MAX), UINT64_MAX);
}

TEST(Permute, IsAPermutationOfEveryLength) {
  for (uint64_t n = 1; n <= 300; ++n) {
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t j = permute({n, Purpose::kBatchOrder, 0}, n, i);
      ASSERT_LT(j, n);
      ASSERT_FALSE(seen[j]) << n << " " << i;
      seen[j] = true;
    }
  }
}

TEST(Permute, LargeAndDifferentByKey) {
  const uint64_t n = 50257;
  std::vector<bool> seen(n);
  uint64_t fixed = 0, same = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t j = permute({1, Purpose::kBatchOrder, 0}, n, i);
    ASSERT_FALSE(seen[j]);
    seen[j] = true;
    fixed += j == i;
    same += j == permute({1, Purpose::kBatchOrder, 1}, n, i);
  }
  EXPECT_LT(fixed, 10u);
  EXPECT_LT(same, 10u);
  EXPECT_LT(permute({1, Purpose::kBatchOrder, 0}, uint64_t{1} << 62, 12345), uint64_t{1} << 62);
}

// Every order of three elements about equally often over the keys.
TEST(Permute, SmallOrdersAreBalanced) {
  std::vector<int> counts(27);
  const int keys = 12000;
  for (int k = 0; k < keys; ++k) {
    const Stream s{static_cast<uint64_t>(k), Purpose::kBatchOrder, 0};
    ++counts[permute(s, 3, 0) * 9 + permute(s, 3, 1) * 3 + permute(s, 3, 2)];
  }
  for (const int c : counts) {
    if (c != 0) {
      EXPECT_NEAR(c, keys / 6, 250);
    }
  }
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 0), 21);
}

}  // namespace
}  // namespace isobit::numerics
