#include "isobit/kernels/norm/local_response_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::Values;

template <class T>
class ResponseNormTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ResponseNormTest, Types);

constexpr ResponseNormShape kShapes[] = {{1, 1, 1, 1},   {2, 5, 3, 3}, {1, 7, 4, 4},
                                         {3, 4, 9, 100}, {2, 0, 3, 3}, {1, 3, 2, INT64_MAX}};

TYPED_TEST(ResponseNormTest, IsTheSameEverywhere) {
  using T = TypeParam;
  uint64_t seed = 0;
  for (const ResponseNormShape& shape : kShapes) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      const auto src = random_values<T>(static_cast<size_t>(shape.n * shape.c * shape.s), kind, ++seed);
      const ResponseNormFactors<T> factors = {.alpha = T(0.3), .beta = T(0.75), .bias = T(1)};
      testing::expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> y(src.size()), squares(src.size()), alone(src.size());
        local_response_norm(ctx, shape, factors, src.data(), y.data(), squares.data());
        local_response_norm<T>(ctx, shape, factors, src.data(), alone.data(), nullptr);
        EXPECT_TRUE(testing::same_bits(y, alone));
        return std::vector<std::vector<T>>{y, squares};
      });
    }
  }
}

// A window of n channels has (n - 1) / 2 before the element's own, and the rest behind it.
TYPED_TEST(ResponseNormTest, LooksAtTheChannelsAround) {
  using T = TypeParam;
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  for (const ResponseNormShape& shape : kShapes) {
    if (shape.size > 100) continue;
    const auto src = random_values<T>(static_cast<size_t>(shape.n * shape.c * shape.s), Values::kUnit, 5);
    std::vector<T> y(src.size());
    const ResponseNormFactors<T> factors = {.alpha = T(0.5), .beta = T(0.75), .bias = T(2)};
    local_response_norm<T>(ctx, shape, factors, src.data(), y.data(), nullptr);
    for (int64_t e = 0; e < static_cast<int64_t>(src.size()); ++e) {
      const int64_t c = e / shape.s % shape.c;
      double squares = 0;
      for (int64_t k = 0; k < shape.c; ++k) {
        if (k < c - (shape.size - 1) / 2 || k > c + shape.size / 2) continue;
        const double x = static_cast<double>(src[static_cast<size_t>(e + (k - c) * shape.s)]);
        squares += x * x;
      }
      const double divisor = std::pow(2 + 0.5 / static_cast<double>(shape.size) * squares, 0.75);
      const double expected = static_cast<double>(src[static_cast<size_t>(e)]) / divisor;
      EXPECT_NEAR(static_cast<double>(y[static_cast<size_t>(e)]), expected, sizeof(T) == 4 ? 1e-6 : 1e-14);
    }
  }
}

}  // namespace
}  // namespace isobit::kernels
