#include "isobit/kernels/determinant/determinant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

template <class T>
std::vector<T> determinants(const KernelContext& ctx, int64_t n, const std::vector<T>& src) {
  std::vector<T> dst(n == 0 ? 2 : src.size() / static_cast<size_t>(n * n), T(7));
  determinant(ctx, static_cast<int64_t>(dst.size()), n, src.data(), dst.data());
  return dst;
}

template <class T>
T one(int64_t n, const std::vector<T>& src) {
  ThreadPool pool(1);
  return determinants({best_isa(), &pool}, n, src)[0];
}

// By cofactors of the first row, exact for small integers.
double by_cofactors(size_t n, const std::vector<double>& a) {
  if (n == 0) return 1;
  double sum = 0;
  for (size_t c = 0; c < n; ++c) {
    std::vector<double> minor;
    for (size_t i = 1; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (j != c) minor.push_back(a[i * n + j]);
      }
    }
    sum += (c % 2 == 0 ? a[c] : -a[c]) * by_cofactors(n - 1, minor);
  }
  return sum;
}

TEST(Determinant, IsThatOfCofactors) {
  std::mt19937_64 random(3);
  for (size_t n = 1; n <= 6; ++n) {
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<double> a;
      for (size_t i = 0; i < n * n; ++i) a.push_back(static_cast<double>(random() % 19) - 9);
      const double expected = by_cofactors(n, a);
      EXPECT_NEAR(one(static_cast<int64_t>(n), a), expected, 1e-9 * (1 + std::fabs(expected))) << n;
      const std::vector<float> narrow(a.begin(), a.end());
      EXPECT_NEAR(static_cast<double>(one(static_cast<int64_t>(n), narrow)), expected,
                  1e-6 * (1 + std::fabs(expected)));
    }
  }
}

TEST(Determinant, ExchangesRowsAndKeepsTheSign) {
  EXPECT_EQ(one<double>(2, {0, 1, 2, 3}), -2);
  EXPECT_EQ(one<float>(3, {0, 1, 0, 0, 0, 1, 1, 0, 0}), 1);
  EXPECT_EQ(one<float>(3, {0, 1, 0, 1, 0, 0, 0, 0, 1}), -1);
}

TEST(Determinant, OfASingularMatrixIsPlusZero) {
  EXPECT_TRUE(testing::same_bits<double>({0.0}, {one<double>(2, {-1, -2, 2, 4})}));
  EXPECT_TRUE(testing::same_bits<float>({0.0f}, {one<float>(1, {-0.0f})}));
}

TEST(Determinant, OfNoRowsIsOne) {
  ThreadPool pool(1);
  EXPECT_EQ(determinants<float>({best_isa(), &pool}, 0, {}), (std::vector<float>{1, 1}));
}

TEST(Determinant, OfWhatIsNotFiniteIsNaN) {
  const float inf = std::numeric_limits<float>::infinity(), nan = numerics::f32_from_bits(0xffa00001u);
  for (float odd : {inf, -inf, nan}) {
    for (size_t place = 0; place < 4; ++place) {
      std::vector<float> a = {0, 0, 0, 0};
      a[place] = odd;
      EXPECT_TRUE(testing::same_bits<float>({numerics::f32_from_bits(0x7fc00000u)}, {one(2, a)})) << place;
    }
  }
}

TEST(Determinant, OverflowsToInfinityAndIsRoundedOnceInFloat32) {
  const float big = 0x1p127f;
  EXPECT_EQ(one<float>(2, {big, 0, 0, 4}), std::numeric_limits<float>::infinity());
  // In float64 on the way: the product of the first two is beyond float32, that of all three is not.
  EXPECT_EQ(one<float>(3, {big, 0, 0, 0, 4, 0, 0, 0, 0.25f}), big);
}

TEST(Determinant, IsTheSameEverywhere) {
  for (int64_t n : {1, 2, 3, 5, 8, 17}) {
    const auto f32 = testing::random_values<float>(static_cast<size_t>(n * n * 40), testing::Values::kUnit, 5);
    const auto f64 = testing::random_values<double>(static_cast<size_t>(n * n * 40), testing::Values::kWide, 6);
    testing::expect_same_everywhere(
        "f32", [&](const KernelContext& ctx) { return std::vector<std::vector<float>>{determinants(ctx, n, f32)}; });
    testing::expect_same_everywhere(
        "f64", [&](const KernelContext& ctx) { return std::vector<std::vector<double>>{determinants(ctx, n, f64)}; });
  }
}

}  // namespace
}  // namespace isobit::kernels
