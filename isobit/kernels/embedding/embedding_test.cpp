#include "isobit/kernels/embedding/embedding.h"

#include <gtest/gtest.h>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

template <class T>
class EmbeddingTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EmbeddingTest, Types);

TYPED_TEST(EmbeddingTest, IsTheSameEverywhere) {
  using T = TypeParam;
  const int64_t sizes[][3] = {{1, 1, 1}, {0, 4, 3}, {5, 3, 7}, {60, 4, 300}, {300, 50, 33}, {900, 1, 5}};
  uint64_t seed = 0;
  for (const auto& [n, V, C] : sizes) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      ++seed;
      const auto table = random_values<T>(static_cast<size_t>(V * C), kind, seed);
      const auto dy = random_values<T>(static_cast<size_t>(n * C), kind, seed + 1000);
      std::vector<int64_t> indices;
      for (int64_t i = 0; i < n; ++i) indices.push_back(i * i * 7 % V);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> y(dy.size()), grad(table.size(), T(9));
        embedding(ctx, n, V, C, indices.data(), table.data(), y.data());
        embedding_grad(ctx, n, V, C, indices.data(), dy.data(), grad.data());
        return std::vector<std::vector<T>>{y, grad};
      });
    }
  }
}

TEST(EmbeddingOracle, GathersBitsAndAddsContributions) {
  testing::for_each_context([](const KernelContext& ctx, const std::string& what) {
    const int64_t indices[] = {2, 0, 2, 2};
    const float odd_nan = numerics::f32_from_bits(0xffa00001u);  // signalling
    const std::vector<float> table = {1, -0.0f, 3, 4, odd_nan, 6};
    std::vector<float> y(8);
    embedding(ctx, 4, 3, 2, indices, table.data(), y.data());
    EXPECT_TRUE(testing::same_bits<float>({odd_nan, 6, 1, -0.0f, odd_nan, 6, odd_nan, 6}, y)) << what;
    const std::vector<float> dy = {0x1p24f, -0.0f, -0.0f, 5, 1, 1, 1, 2};
    std::vector<float> grad(6);
    embedding_grad(ctx, 4, 3, 2, indices, dy.data(), grad.data());
    EXPECT_TRUE(testing::same_bits<float>({0, 5, 0, 0, 0x1p24f + 2, 3}, grad)) << what;
  });
}

}  // namespace
}  // namespace isobit::kernels
