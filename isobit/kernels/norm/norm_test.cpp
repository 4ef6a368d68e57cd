#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "isobit/kernels/norm/batch_norm.h"
#include "isobit/kernels/norm/layer_norm.h"
#include "isobit/kernels/reduce/mpfr_oracle.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

template <class T>
class NormTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NormTest, Types);

constexpr BatchNormShape kShapes[] = {{1, 1, 1},  {4, 3, 1},   {70, 300, 1}, {5, 70, 4},  {3, 5, 15},
                                      {3, 5, 16}, {9, 4, 49},  {2, 3, 1024}, {200, 2, 2}, {3, 2, 2100},
                                      {2, 0, 4},  {1, 40, 17}, {2, 130, 2}};

// Data of a kind, with some channels constant and some far from zero.
template <class T>
std::vector<T> channels(BatchNormShape b, Values kind, uint64_t seed) {
  auto x = random_values<T>(static_cast<size_t>(b.n * b.c * b.s), kind, seed);
  if (kind != Values::kUnit) return x;
  for (int64_t i = 0; i < b.n * b.c * b.s; ++i) {
    const int64_t c = i / b.s % b.c;
    if (c % 5 == 1) x[i] = T(c) / T(3);
    if (c % 5 == 2) x[i] += T(100000);
    if (c % 5 == 3 && i < b.c * b.s && i % b.s == 0) x[i] = T(1e9);  // an outlier, first of its channel
  }
  return x;
}

TYPED_TEST(NormTest, BatchNormIsTheSameEverywhere) {
  using T = TypeParam;
  uint64_t seed = 0;
  for (BatchNormShape b : kShapes) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      ++seed;
      const size_t n = static_cast<size_t>(b.n * b.c * b.s), c = static_cast<size_t>(b.c);
      const auto src = channels<T>(b, kind, seed), dy = random_values<T>(n, kind, seed + 1000);
      const auto scale = random_values<T>(c, kind, seed + 2000), bias = random_values<T>(c, kind, seed + 3000);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> mean(c), var(c), y(n), running(c), unbiased(c), dx(n), dscale(c), dbias(c), in_place = src;
        batch_norm_stats(ctx, b, src.data(), mean.data(), var.data());
        batch_norm_apply(ctx, b, T(1e-5), src.data(), mean.data(), var.data(), scale.data(), bias.data(), y.data());
        batch_norm_apply(ctx, b, T(1e-5), in_place.data(), mean.data(), var.data(), scale.data(), bias.data(),
                         in_place.data());
        batch_norm_running(ctx, b.c, 0, T(0.9), bias.data(), mean.data(), running.data());
        batch_norm_running(ctx, b.c, b.n * b.s + 1, T(0.9), bias.data(), var.data(), unbiased.data());
        const BatchNormGradInputs<T> in{
            .src = src.data(), .mean = mean.data(), .var = var.data(), .scale = scale.data(), .diff_dst = dy.data()};
        batch_norm_grad(ctx, b, T(1e-5), in, dx.data(), dscale.data(), dbias.data());
        return std::vector<std::vector<T>>{mean, var, y, running, unbiased, dx, dscale, dbias, in_place};
      });
    }
  }
}

TYPED_TEST(NormTest, LayerNormIsTheSameEverywhere) {
  using T = TypeParam;
  const int64_t sizes[][2] = {{1, 1}, {3, 5}, {4, 16}, {0, 7}, {40, 33}, {7, 768}, {300, 300}, {2, 5000}};
  uint64_t seed = 0;
  for (const auto& [rows, C] : sizes) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      ++seed;
      const size_t n = static_cast<size_t>(rows * C), r = static_cast<size_t>(rows), c = static_cast<size_t>(C);
      const auto src = random_values<T>(n, kind, seed), dy = random_values<T>(n, kind, seed + 1000);
      const auto scale = random_values<T>(c, kind, seed + 2000), bias = random_values<T>(c, kind, seed + 3000);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> mean(r), inv(r), var(r), y(n), plain(n), dx(n), dx2(n), dscale(c), dbias(c), g(r), gh(r);
        layer_norm(ctx, rows, C, T(1e-5), src.data(), scale.data(), bias.data(),
                   {.dst = y.data(), .mean = mean.data(), .inv_std = inv.data(), .var = var.data()});
        layer_norm(ctx, rows, C, T(1e-5), src.data(), scale.data(), static_cast<const T*>(nullptr),
                   {.dst = plain.data(), .mean = mean.data(), .inv_std = inv.data()});
        const LayerNormGradInputs<T> in{.src = src.data(),
                                        .mean = mean.data(),
                                        .inv_std = inv.data(),
                                        .scale = scale.data(),
                                        .diff_dst = dy.data()};
        layer_norm_grad(ctx, rows, C, in, dx.data(), dscale.data(), dbias.data());
        layer_norm_grad_data(ctx, rows, C, in, dx2.data(), g.data(), gh.data());
        return std::vector<std::vector<T>>{y, plain, mean, inv, var, dx, dx2, dscale, dbias, g, gh};
      });
    }
  }
}

TEST(NormOracle, StatisticsAgainstMpfr) {
  ThreadPool pool(1);
  for (Isa isa : available_isas()) {
    const KernelContext ctx{isa, &pool};
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const int64_t n = 1 + static_cast<int64_t>(seed * 41 % 2500);
      auto x = random_values<float>(static_cast<size_t>(n), Values::kUnit, seed);
      if (seed % 4 == 1) {
        for (float& v : x) v += 1e6f;
      }
      if (seed % 4 == 2) x[0] = 1e20f;
      if (seed % 4 == 3) {
        for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 ? 1.0f : 1.0f + 0x1p-23f;
      }
      const auto expected = testing::mpfr_moments(x);
      float mean, var;
      batch_norm_stats(ctx, {1, 1, n}, x.data(), &mean, &var);
      EXPECT_EQ(expected.mean, mean) << name_of(isa) << " seed " << seed;
      EXPECT_EQ(expected.variance, var) << name_of(isa) << " seed " << seed;
      batch_norm_stats(ctx, {n, 1, 1}, x.data(), &mean, &var);
      EXPECT_EQ(expected.mean, mean) << name_of(isa) << " interleaved, seed " << seed;
      EXPECT_EQ(expected.variance, var) << name_of(isa) << " interleaved, seed " << seed;
    }
  }
}

// PyTorch's rule, computed as its documentation writes it; ONNX's beside it.
TEST(NormOracle, RunningVariancesOfPyTorchAndOnnx) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  for (const auto& [n, s] : {std::pair<int64_t, int64_t>{2, 1}, {3, 2}, {4, 49}, {16, 64}}) {
    const auto x = random_values<float>(static_cast<size_t>(n * s), Values::kUnit, static_cast<uint64_t>(n));
    const auto count = static_cast<double>(n * s);
    double mean = 0, squares = 0;
    for (float v : x) mean += static_cast<double>(v) / count;
    for (float v : x) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    float m, var;
    batch_norm_stats(ctx, {n, 1, s}, x.data(), &m, &var);
    const float before = 0.75f;
    const auto after = [&](int64_t of) {
      float value;
      batch_norm_running(ctx, 1, of, 0.9f, &before, &var, &value);
      return static_cast<double>(value);
    };
    const double onnx = 0.9 * 0.75 + 0.1 * squares / count, torch = 0.9 * 0.75 + 0.1 * squares / (count - 1);
    EXPECT_NEAR(after(0), onnx, 0x1p-22 * onnx);
    EXPECT_NEAR(after(n * s), torch, 0x1p-22 * torch);
    EXPECT_GT(torch - onnx, 0x1p-20 * torch) << "too near to tell";
  }
  // Each operation rounded once: f = 3/2, v = 3/2, b = v * fl(1 - 0.9).
  const double before = 1, var = 1;
  double after;
  batch_norm_running(ctx, 1, 3, 0.9, &before, &var, &after);
  EXPECT_EQ(after, 1 * 0.9 + 1.5 * (1 - 0.9));
}

// d/dx of sum(dy * f(x)) by central differences, for every element of x.
void expect_gradient(const std::function<std::vector<double>(const std::vector<double>&)>& f, std::vector<double> x,
                     const std::vector<double>& dy, const std::vector<double>& gradient) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double keep = x[i], h = 1e-5;
    double difference = 0;
    for (double sign : {1.0, -1.0}) {
      x[i] = keep + sign * h;
      const std::vector<double> y = f(x);
      for (size_t k = 0; k < y.size(); ++k) difference += sign * dy[k] * y[k];
    }
    x[i] = keep;
    EXPECT_NEAR(difference / (2 * h), gradient[i], 1e-7) << "element " << i;
  }
}

TEST(NormOracle, BatchNormGradientAgainstDifferences) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const BatchNormShape b{3, 2, 4};
  const auto x = random_values<double>(24, Values::kUnit, 1), dy = random_values<double>(24, Values::kUnit, 2);
  const auto scale = random_values<double>(2, Values::kUnit, 3), bias = random_values<double>(2, Values::kUnit, 4);
  const auto forward = [&](const std::vector<double>& src, const std::vector<double>& g, const std::vector<double>& o) {
    std::vector<double> mean(2), var(2), y(24);
    batch_norm_stats(ctx, b, src.data(), mean.data(), var.data());
    batch_norm_apply(ctx, b, 1e-3, src.data(), mean.data(), var.data(), g.data(), o.data(), y.data());
    return y;
  };
  std::vector<double> mean(2), var(2), dx(24), dscale(2), dbias(2);
  batch_norm_stats(ctx, b, x.data(), mean.data(), var.data());
  const BatchNormGradInputs<double> in{
      .src = x.data(), .mean = mean.data(), .var = var.data(), .scale = scale.data(), .diff_dst = dy.data()};
  batch_norm_grad(ctx, b, 1e-3, in, dx.data(), dscale.data(), dbias.data());
  expect_gradient([&](const std::vector<double>& v) { return forward(v, scale, bias); }, x, dy, dx);
  expect_gradient([&](const std::vector<double>& v) { return forward(x, v, bias); }, scale, dy, dscale);
  expect_gradient([&](const std::vector<double>& v) { return forward(x, scale, v); }, bias, dy, dbias);
  // float32 is the same formula.
  const std::vector<float> xf(x.begin(), x.end()), dyf(dy.begin(), dy.end()), sf(scale.begin(), scale.end());
  std::vector<float> mf(2), vf(2), dxf(24), dsf(2), dbf(2);
  batch_norm_stats(ctx, b, xf.data(), mf.data(), vf.data());
  const BatchNormGradInputs<float> in_f{
      .src = xf.data(), .mean = mf.data(), .var = vf.data(), .scale = sf.data(), .diff_dst = dyf.data()};
  batch_norm_grad(ctx, b, 1e-3f, in_f, dxf.data(), dsf.data(), dbf.data());
  for (size_t i = 0; i < dx.size(); ++i) EXPECT_NEAR(dx[i], dxf[i], 1e-5);
}

TEST(NormOracle, LayerNormGradientAgainstDifferences) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t rows = 3, C = 7;
  const auto x = random_values<double>(21, Values::kUnit, 1), dy = random_values<double>(21, Values::kUnit, 2);
  const auto scale = random_values<double>(7, Values::kUnit, 3), bias = random_values<double>(7, Values::kUnit, 4);
  std::vector<double> mean(3), inv(3), y(21), dx(21), dscale(7), dbias(7);
  const auto forward = [&](const std::vector<double>& src, const std::vector<double>& g, const std::vector<double>& o) {
    layer_norm(ctx, rows, C, 1e-3, src.data(), g.data(), o.data(),
               {.dst = y.data(), .mean = mean.data(), .inv_std = inv.data()});
    return y;
  };
  forward(x, scale, bias);
  const LayerNormGradInputs<double> in{
      .src = x.data(), .mean = mean.data(), .inv_std = inv.data(), .scale = scale.data(), .diff_dst = dy.data()};
  layer_norm_grad(ctx, rows, C, in, dx.data(), dscale.data(), dbias.data());
  expect_gradient([&](const std::vector<double>& v) { return forward(v, scale, bias); }, x, dy, dx);
  expect_gradient([&](const std::vector<double>& v) { return forward(x, v, bias); }, scale, dy, dscale);
  expect_gradient([&](const std::vector<double>& v) { return forward(x, scale, v); }, bias, dy, dbias);
}

}  // namespace
}  // namespace isobit::kernels
