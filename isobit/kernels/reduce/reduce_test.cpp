#include "isobit/kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "isobit/kernels/reduce/mpfr_oracle.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::mpfr_moments;
using testing::random_values;
using testing::Values;

constexpr Values kKinds[] = {Values::kUnit, Values::kWide, Values::kSpecial};
constexpr AxisView kViews[] = {{1, 1, 1},     {3, 0, 2},     {1, 7, 1},   {5, 10, 1},   {2, 33, 3},
                               {1, 300, 17},  {3, 5, 64},    {2, 70, 70}, {1, 4097, 1}, {130, 129, 1},
                               {1, 100, 600}, {1, 6, 17000}, {0, 4, 2}};

template <class T>
class ReduceTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ReduceTest, Types);

TYPED_TEST(ReduceTest, OneAxisIsTheSameEverywhere) {
  using T = TypeParam;
  uint64_t seed = 0;
  for (AxisView v : kViews) {
    for (Values kind : kKinds) {
      const auto src = random_values<T>(static_cast<size_t>(v.outer * v.axis * v.inner), kind, ++seed);
      const size_t n = static_cast<size_t>(v.outer * v.inner);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<std::vector<T>> out(3, std::vector<T>(n));
        reduce_sum(ctx, v, src.data(), out[0].data());
        if (v.axis == 0) return out;
        reduce_mean(ctx, v, src.data(), out[1].data());
        reduce_max(ctx, v, src.data(), out[2].data());
        return out;
      });
    }
  }
}

TYPED_TEST(ReduceTest, AnyAxesAreTheSameEverywhere) {
  using T = TypeParam;
  const std::vector<std::vector<int64_t>> shapes = {
      {}, {5}, {3, 4}, {2, 3, 4}, {4, 1, 7, 2}, {3, 2, 4, 3, 2}, {6, 20, 35}, {1, 1}, {3, 0, 2}};
  uint64_t seed = 100;
  for (const auto& dims : shapes) {
    size_t n = 1;
    for (int64_t d : dims) n *= static_cast<size_t>(d);
    const auto src = random_values<T>(n, Values::kSpecial, ++seed);
    for (uint64_t axes = 0; axes < uint64_t{1} << dims.size(); ++axes) {
      size_t results = 1;
      for (size_t d = 0; d < dims.size(); ++d) results *= axes >> d & 1 ? 1 : static_cast<size_t>(dims[d]);
      expect_same_everywhere("seed " + std::to_string(seed) + " axes " + std::to_string(axes),
                             [&](const KernelContext& ctx) {
                               std::vector<std::vector<T>> out(3, std::vector<T>(results));
                               reduce_sum(ctx, dims, axes, src.data(), out[0].data());
                               if (n == 0) return out;
                               reduce_mean(ctx, dims, axes, src.data(), out[1].data());
                               reduce_max(ctx, dims, axes, src.data(), out[2].data());
                               return out;
                             });
    }
  }
}

TYPED_TEST(ReduceTest, ChannelsAndNormsAreTheSameEverywhere) {
  using T = TypeParam;
  const int64_t shapes[][3] = {{1, 1, 1},  {4, 3, 1},  {70, 300, 1}, {5, 70, 4}, {3, 5, 15},
                               {3, 5, 16}, {9, 4, 49}, {2, 3, 1024}, {0, 3, 4}};
  uint64_t seed = 200;
  for (const auto& [n, c, s] : shapes) {
    for (Values kind : kKinds) {
      const auto src = random_values<T>(static_cast<size_t>(n * c * s), kind, ++seed);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<std::vector<T>> out(2, std::vector<T>(static_cast<size_t>(c)));
        sum_channels(ctx, n, c, s, src.data(), out[0].data());
        const int64_t half = n * c * s / 2;
        const ConstPart<T> parts[] = {{src.data(), half}, {src.data() + half, n * c * s - half}, {nullptr, 0}};
        out[1] = {global_sum_of_squares(ctx, std::span<const ConstPart<T>>(parts)),
                  global_norm(ctx, std::span<const ConstPart<T>>(parts))};
        return out;
      });
    }
  }
}

TEST(ReduceOracle, SumsAndSquaresAgainstMpfr) {
  ThreadPool pool(2);
  for (Isa isa : available_isas()) {
    const KernelContext ctx{isa, &pool};
    for (uint64_t seed = 0; seed < 60; ++seed) {
      auto x = random_values<float>(1 + seed * 37 % 3000, Values::kUnit, seed);
      // Sums that all but cancel, and ties: the float64 bound cannot decide these.
      if (seed % 3 == 1) x.push_back(-mpfr_moments(x).sum);
      if (seed % 3 == 2) x = {0x1p24f, 1.0f, seed % 2 ? 0x1p-100f : -0x1p-100f};
      const auto expected = mpfr_moments(x);
      const int64_t n = static_cast<int64_t>(x.size());
      float sum;
      reduce_sum(ctx, AxisView{1, n, 1}, x.data(), &sum);
      EXPECT_EQ(numerics::bits_of(expected.sum + 0.0f), numerics::bits_of(sum)) << name_of(isa) << " seed " << seed;
      const ConstPart<float> part{x.data(), n};
      EXPECT_EQ(expected.squares, global_sum_of_squares(ctx, std::span(&part, 1))) << name_of(isa) << " seed " << seed;
    }
  }
}

TEST(ReduceOracle, SpecialRules) {
  const float nan = std::nanf(""), inf = INFINITY;
  testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
    float r;
    const auto sum = [&](std::vector<float> x) {
      reduce_sum(ctx, AxisView{1, static_cast<int64_t>(x.size()), 1}, x.data(), &r);
      return numerics::bits_of(r);
    };
    const auto max = [&](std::vector<float> x) {
      reduce_max(ctx, AxisView{1, static_cast<int64_t>(x.size()), 1}, x.data(), &r);
      return numerics::bits_of(r);
    };
    EXPECT_EQ(0u, sum({-0.0f, -0.0f})) << what;
    EXPECT_EQ(0u, sum({1e30f, -1e30f})) << what;
    EXPECT_EQ(0x7fc00000u, sum({inf, -inf})) << what;
    EXPECT_EQ(0x7fc00000u, sum({1.0f, -nan})) << what;
    EXPECT_EQ(0xff800000u, sum({-3e38f, -3e38f})) << what;
    EXPECT_EQ(numerics::bits_of(3e38f), sum({3e38f, 3e38f, -3e38f})) << what;
    EXPECT_EQ(0u, max({-0.0f, 0.0f, -0.0f})) << what;
    EXPECT_EQ(0x80000000u, max({-0.0f, -1.0f})) << what;
    EXPECT_EQ(0x7fc00000u, max({inf, -nan, 3.0f})) << what;
  });
}

TEST(ReduceOracle, MaxAgainstTheLibrary) {
  const auto x = random_values<float>(1000, Values::kUnit, 5);
  ThreadPool pool(1);
  for (Isa isa : available_isas()) {
    float m;
    reduce_max(KernelContext{isa, &pool}, AxisView{1, 1000, 1}, x.data(), &m);
    EXPECT_EQ(*std::max_element(x.begin(), x.end()), m);
  }
}

}  // namespace
}  // namespace isobit::kernels
