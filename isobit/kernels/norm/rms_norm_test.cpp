#include "isobit/kernels/norm/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/reduce/mpfr_oracle.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

template <class T>
class RmsNormTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RmsNormTest, Types);

TYPED_TEST(RmsNormTest, IsTheSameEverywhere) {
  using T = TypeParam;
  const int64_t sizes[][2] = {{1, 1}, {3, 5}, {4, 16}, {0, 7}, {40, 33}, {7, 768}, {300, 30}, {2, 5000}};
  uint64_t seed = 0;
  for (const auto& [rows, C] : sizes) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      ++seed;
      const size_t n = static_cast<size_t>(rows * C), r = static_cast<size_t>(rows), c = static_cast<size_t>(C);
      const auto src = random_values<T>(n, kind, seed), dy = random_values<T>(n, kind, seed + 1000);
      const auto scale = random_values<T>(c, kind, seed + 2000);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> y(n), squares(r), in_place = src, dx(n), dscale(c), q(r), gh(r), dx2(n), dscale2(c);
        rms_norm(ctx, rows, C, T(1e-5), src.data(), scale.data(), y.data(), squares.data());
        rms_norm(ctx, rows, C, T(1e-5), in_place.data(), scale.data(), in_place.data());
        const RmsNormGradInputs<T> in{.src = src.data(), .scale = scale.data(), .diff_dst = dy.data()};
        rms_norm_grad(
            ctx, rows, C, T(1e-5), in,
            RmsNormGradOutputs<T>{
                .diff_src = dx.data(), .diff_scale = dscale.data(), .squares = q.data(), .sum_gh = gh.data()});
        rms_norm_grad(ctx, rows, C, T(1e-5), in,
                      RmsNormGradOutputs<T>{.diff_src = dx2.data(), .diff_scale = dscale2.data()});
        return std::vector<std::vector<T>>{y, squares, in_place, dx, dscale, q, gh, dx2, dscale2};
      });
    }
  }
}

TEST(RmsNormOracle, SquaresAgainstMpfr) {
  ThreadPool pool(1);
  for (Isa isa : available_isas()) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const int64_t n = 1 + static_cast<int64_t>(seed * 41 % 2500);
      const auto x = random_values<float>(static_cast<size_t>(n), Values::kUnit, seed);
      const std::vector<float> scale(x.size(), 1.0f);
      std::vector<float> y(x.size());
      float squares;
      rms_norm(KernelContext{isa, &pool}, 1, n, 1e-5f, x.data(), scale.data(), y.data(), &squares);
      EXPECT_EQ(squares, testing::mpfr_moments(x).squares) << name_of(isa) << " seed " << seed;
      const double root = std::sqrt(static_cast<double>(squares) / static_cast<double>(n) + 1e-5);
      for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], static_cast<double>(x[i]) / root, 1e-6);
    }
  }
}

TEST(RmsNormOracle, GradientAgainstDifferences) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t rows = 3, C = 7;
  std::vector<double> x = random_values<double>(21, Values::kUnit, 1),
                      scale = random_values<double>(7, Values::kUnit, 2);
  const auto dy = random_values<double>(21, Values::kUnit, 3);
  std::vector<double> dx(21), dscale(7);
  rms_norm_grad(ctx, rows, C, 1e-3,
                RmsNormGradInputs<double>{.src = x.data(), .scale = scale.data(), .diff_dst = dy.data()},
                RmsNormGradOutputs<double>{.diff_src = dx.data(), .diff_scale = dscale.data()});
  const auto loss = [&] {
    std::vector<double> y(21);
    rms_norm(ctx, rows, C, 1e-3, x.data(), scale.data(), y.data());
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  const auto expect = [&](std::vector<double>& v, const std::vector<double>& gradient) {
    for (size_t i = 0; i < v.size(); ++i) {
      const double keep = v[i], h = 1e-5;
      v[i] = keep + h;
      const double above = loss();
      v[i] = keep - h;
      const double below = loss();
      v[i] = keep;
      EXPECT_NEAR((above - below) / (2 * h), gradient[i], 1e-7) << i;
    }
  };
  expect(x, dx);
  expect(scale, dscale);
}

}  // namespace
}  // namespace isobit::kernels
