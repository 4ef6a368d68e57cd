#include "isobit/kernels/pool/pool_nd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isobit/kernels/pool/output_size_for_test.h"
#include "isobit/kernels/pool/pool.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

using Axes = std::vector<SlidingAxis>;

SlidingAxis axis(int64_t in, int64_t size, int64_t stride, int64_t dilation, int64_t pad, bool ceil = false) {
  SlidingAxis a{.in = in, .size = size, .stride = stride, .dilation = dilation, .pad = pad, .pad_end = pad};
  a.out = pool_output_size(in, {size, stride, pad, pad, dilation}, ceil);
  return a;
}

int64_t count(const Axes& axes, int64_t SlidingAxis::*member) {
  return extents_product(axes.size(), [&](size_t a) { return axes[a].*member; });
}

std::vector<Axes> examples() {
  return {{axis(9, 3, 2, 1, 1)},
          {axis(5, 2, 1, 1, 0), axis(7, 3, 2, 2, 2)},
          {axis(6, 3, 2, 1, 0, true), axis(5, 2, 2, 1, 1, true)},
          {axis(4, 3, 1, 1, 1), axis(5, 2, 2, 2, 1), axis(6, 3, 3, 1, 2)},
          {axis(1, 2, 1, 2, 1), axis(3, 2, 1, 1, 0), axis(2, 1, 1, 1, 0), axis(3, 3, 1, 1, 1)}};
}

// The same planes and windows as pool.h has them.
PoolShape flat(int64_t planes, const Axes& axes, bool include) {
  PoolShape p;
  p.c = planes;
  p.ih = axes[0].in, p.kh = axes[0].size, p.stride_h = axes[0].stride, p.dilation_h = axes[0].dilation;
  p.pad_top = axes[0].pad, p.pad_bottom = axes[0].pad_end, p.oh = axes[0].out;
  p.iw = axes[1].in, p.kw = axes[1].size, p.stride_w = axes[1].stride, p.dilation_w = axes[1].dilation;
  p.pad_left = axes[1].pad, p.pad_right = axes[1].pad_end, p.ow = axes[1].out;
  p.count_include_pad = include;
  return p;
}

template <class T>
class PoolNdTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PoolNdTest, Types);

TYPED_TEST(PoolNdTest, IsTheSameEverywhere) {
  using T = TypeParam;
  uint64_t seed = 0;
  for (const Axes& axes : examples()) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      const int64_t planes = 3;
      const auto in = static_cast<size_t>(planes * count(axes, &SlidingAxis::in)),
                 out = static_cast<size_t>(planes * count(axes, &SlidingAxis::out));
      const auto src = random_values<T>(in, kind, ++seed), dy = random_values<T>(out, kind, seed + 1000);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<std::vector<T>> results;
        for (PlaceOrder order : {PlaceOrder::kRowMajor, PlaceOrder::kColumnMajor}) {
          std::vector<T> y(out), dx(in);
          std::vector<int64_t> indices(out);
          max_pool_nd<T>(ctx, planes, axes, order, src.data(), y.data(), indices.data());
          max_pool_nd_grad<T>(ctx, planes, axes, order, dy.data(), indices.data(), dx.data());
          results.push_back(y);
          results.emplace_back(indices.begin(), indices.end());
          results.push_back(dx);
        }
        for (bool include : {false, true}) {
          std::vector<T> y(out), dx(in);
          average_pool_nd<T>(ctx, planes, axes, include, src.data(), y.data());
          average_pool_nd_grad<T>(ctx, planes, axes, include, dy.data(), dx.data());
          results.push_back(y);
          results.push_back(dx);
        }
        for (int64_t p : {1, 2, 3}) {
          results.emplace_back(out);
          lp_pool_nd<T>(ctx, planes, axes, p, src.data(), results.back().data());
        }
        return results;
      });
    }
  }
}

// Two axes have kernels of their own; both must be the operator.
TYPED_TEST(PoolNdTest, IsThePoolingOfPlanes) {
  using T = TypeParam;
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  uint64_t seed = 0;
  for (const Axes& axes : examples()) {
    if (axes.size() != 2) continue;
    for (Values kind : {Values::kUnit, Values::kSpecial}) {
      const int64_t planes = 3;
      const auto in = static_cast<size_t>(planes * count(axes, &SlidingAxis::in)),
                 out = static_cast<size_t>(planes * count(axes, &SlidingAxis::out));
      const auto src = random_values<T>(in, kind, ++seed), dy = random_values<T>(out, kind, seed + 1000);
      const PoolShape p = flat(planes, axes, false);
      std::vector<T> y(out), other(out), dx(in), dother(in);
      std::vector<int64_t> indices(out), places(out);
      max_pool(ctx, p, src.data(), y.data(), indices.data());
      max_pool_nd<T>(ctx, planes, axes, PlaceOrder::kRowMajor, src.data(), other.data(), places.data());
      EXPECT_TRUE(testing::same_bits(y, other));
      EXPECT_EQ(indices, places);
      max_pool_grad(ctx, p, dy.data(), indices.data(), dx.data());
      max_pool_nd_grad<T>(ctx, planes, axes, PlaceOrder::kRowMajor, dy.data(), places.data(), dother.data());
      EXPECT_TRUE(testing::same_bits(dx, dother));
      for (bool include : {false, true}) {
        average_pool(ctx, flat(planes, axes, include), src.data(), y.data());
        average_pool_nd<T>(ctx, planes, axes, include, src.data(), other.data());
        EXPECT_TRUE(testing::same_bits(y, other));
        average_pool_grad(ctx, flat(planes, axes, include), dy.data(), dx.data());
        average_pool_nd_grad<T>(ctx, planes, axes, include, dy.data(), dother.data());
        EXPECT_TRUE(testing::same_bits(dx, dother));
      }
    }
  }
}

TEST(PoolNd, SmallCases) {
  testing::for_each_context([](const KernelContext& ctx, const std::string& what) {
    // One plane of 2 x 3, a window of 2 x 2.
    const Axes axes = {axis(2, 2, 1, 1, 0), axis(3, 2, 1, 1, 0)};
    const std::vector<float> src = {3, -4, 0, 0, 4, -4};
    std::vector<float> y(2), norm(2);
    std::vector<int64_t> rows(2), columns(2);
    max_pool_nd<float>(ctx, 1, axes, PlaceOrder::kRowMajor, src.data(), y.data(), rows.data());
    max_pool_nd<float>(ctx, 1, axes, PlaceOrder::kColumnMajor, src.data(), y.data(), columns.data());
    EXPECT_EQ(y, (std::vector<float>{4, 4})) << what;
    EXPECT_EQ(rows, (std::vector<int64_t>{4, 4})) << what;
    EXPECT_EQ(columns, (std::vector<int64_t>{3, 3})) << what;  // place (1, 1) of 2 x 3: 1 + 1 * 2
    lp_pool_nd<float>(ctx, 1, axes, 1, src.data(), norm.data());
    EXPECT_EQ(norm, (std::vector<float>{11, 12})) << what;
    lp_pool_nd<float>(ctx, 1, axes, 2, src.data(), norm.data());
    EXPECT_EQ(norm, (std::vector<float>{std::sqrt(41.0f), std::sqrt(48.0f)})) << what;
    lp_pool_nd<float>(ctx, 1, axes, 3, src.data(), norm.data());
    EXPECT_NEAR(norm[0], std::cbrt(27.0 + 64 + 64), 1e-6) << what;
  });
}

TEST(PoolNd, IntegersHaveTheirOwnLowest) {
  testing::for_each_context([](const KernelContext& ctx, const std::string& what) {
    const Axes axes = {axis(2, 1, 1, 1, 1)};  // windows of padding alone on either side
    const std::vector<int8_t> src = {-128, 127};
    std::vector<int8_t> y(4);
    std::vector<int64_t> places(4);
    max_pool_nd<int8_t>(ctx, 1, axes, PlaceOrder::kRowMajor, src.data(), y.data(), places.data());
    EXPECT_EQ(y, (std::vector<int8_t>{-128, -128, 127, -128})) << what;
    EXPECT_EQ(places, (std::vector<int64_t>{-1, 0, 1, -1})) << what;
    const std::vector<uint8_t> bytes = {0, 255};
    std::vector<uint8_t> most(4);
    max_pool_nd<uint8_t>(ctx, 1, axes, PlaceOrder::kRowMajor, bytes.data(), most.data(), nullptr);
    EXPECT_EQ(most, (std::vector<uint8_t>{0, 0, 255, 0})) << what;
  });
}

// A place of any plane may be named: then nothing may be added up out of order.
TEST(PoolNd, AGradientGoesToTheOtherPlaneThatAnIndexNames) {
  testing::for_each_context([](const KernelContext& ctx, const std::string& what) {
    const Axes axes = {axis(2, 2, 1, 1, 0)};
    const std::vector<float> dy = {1, 0x1p25f, 1};
    std::vector<float> dx(6);
    const std::vector<int64_t> one_place = {4, 4, 4};
    max_pool_nd_grad<float>(ctx, 3, axes, PlaceOrder::kRowMajor, dy.data(), one_place.data(), dx.data());
    EXPECT_EQ(dx, (std::vector<float>{0, 0, 0, 0, 0x1p25f, 0})) << what;  // each 1 is lost beside 2^25
  });
}

TEST(PoolNd, UnpoolingPutsElementsWhereTheyWere) {
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<int64_t> indices = {3, 0, 3};
  const auto check = [&]<class E>(E) {
    const std::vector<E> src = {E(5), E(6), E(7)};
    std::vector<E> dst(5, E(9));
    unpool(ctx, sizeof(E), 3, src.data(), indices.data(), 5, dst.data());
    EXPECT_EQ(dst, (std::vector<E>{E(6), E(0), E(0), E(7), E(0)}));
  };
  check(uint8_t{});
  check(int16_t{});
  check(float{});
  check(double{});
}

}  // namespace
}  // namespace isobit::kernels
