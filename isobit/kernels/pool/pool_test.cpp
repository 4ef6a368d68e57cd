#include "isobit/kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/pool/output_size_for_test.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

template <class T>
class PoolTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PoolTest, Types);

std::vector<PoolShape> shapes() {
  std::vector<PoolShape> all;
  const auto add = [&](int64_t size, int64_t k, int64_t stride, int64_t pad, int64_t dilation, bool ceil, bool count) {
    PoolShape p;
    p.n = 2, p.c = 3, p.ih = size, p.iw = size + 2;
    p.kh = k, p.kw = k + (size % 2), p.stride_h = stride, p.stride_w = stride;
    p.pad_top = pad, p.pad_left = pad, p.pad_bottom = pad, p.pad_right = pad ? pad - 1 : 0;
    p.dilation_h = p.dilation_w = dilation, p.count_include_pad = count;
    p.oh = pool_output_size(p.ih, {p.kh, stride, p.pad_top, p.pad_bottom, dilation}, ceil);
    p.ow = pool_output_size(p.iw, {p.kw, stride, p.pad_left, p.pad_right, dilation}, ceil);
    all.push_back(p);
  };
  for (bool flag : {false, true}) {
    add(1, 1, 1, 0, 1, flag, flag);
    add(8, 2, 2, 0, 1, flag, flag);
    add(9, 3, 2, 1, 1, flag, flag);
    add(9, 3, 2, 1, 1, flag, !flag);
    add(12, 3, 1, 1, 2, flag, flag);
    add(40, 3, 3, 2, 1, flag, flag);
    add(40, 2, 2, 0, 1, flag, flag);
    add(6, 2, 2, 0, 2, flag, flag);
    add(65, 2, 2, 1, 1, flag, flag);
    add(5, 7, 5, 4, 1, flag, flag);
    add(1, 2, 1, 1, 2, flag, flag);  // windows of padding alone
  }
  return all;
}

TYPED_TEST(PoolTest, IsTheSameEverywhere) {
  using T = TypeParam;
  uint64_t seed = 0;
  for (const PoolShape& p : shapes()) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      const size_t in = static_cast<size_t>(p.n * p.c * p.ih * p.iw),
                   out = static_cast<size_t>(p.n * p.c * p.oh * p.ow);
      const auto src = random_values<T>(in, kind, ++seed), dy = random_values<T>(out, kind, seed + 1000);
      const int64_t planes = p.n * p.c, s = p.ih * p.iw;
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> y(out), dx(in), average(out), daverage(in), global(static_cast<size_t>(planes)), dglobal(in);
        std::vector<int64_t> indices(out);
        max_pool(ctx, p, src.data(), y.data(), nullptr);
        max_pool(ctx, p, src.data(), y.data(), indices.data());
        max_pool_grad(ctx, p, dy.data(), indices.data(), dx.data());
        average_pool(ctx, p, src.data(), average.data());
        average_pool_grad(ctx, p, dy.data(), daverage.data());
        global_average_pool(ctx, planes, s, src.data(), global.data());
        global_average_pool_grad(ctx, planes, s, global.data(), dglobal.data());
        const std::vector<T> places(indices.begin(), indices.end());
        return std::vector<std::vector<T>>{y, places, dx, average, daverage, global, dglobal};
      });
    }
  }
}

TEST(PoolOracle, OutputSizes) {
  EXPECT_EQ(4, pool_output_size(8, {.size = 2, .stride = 2}, false));
  EXPECT_EQ(56, pool_output_size(112, {.size = 3, .stride = 2, .pad_begin = 1, .pad_end = 1}, false));
  EXPECT_EQ(3, pool_output_size(5, {.size = 2, .stride = 2}, true));
  EXPECT_EQ(2, pool_output_size(5, {.size = 2, .stride = 2}, false));
  EXPECT_EQ(2, pool_output_size(2, {.size = 1, .stride = 2, .pad_begin = 1},
                                true));  // a third window would start past the image
  EXPECT_EQ(0, pool_output_size(2, {.size = 3}, false));
  EXPECT_EQ(3, pool_output_size(7, {.size = 3, .dilation = 2}, false));
}

// Worked by hand.
TEST(PoolOracle, SmallCases) {
  testing::for_each_context([](const KernelContext& ctx, const std::string& what) {
    PoolShape p;
    p.ih = 2, p.iw = 3, p.kh = 2, p.kw = 2, p.pad_left = 1, p.oh = 1, p.ow = 3;
    const std::vector<float> src = {1, 4, 4, 4, -0.0f, 3};
    std::vector<float> y(3), dx(6), average(3);
    std::vector<int64_t> places(3);
    max_pool(ctx, p, src.data(), y.data(), places.data());
    EXPECT_EQ((std::vector<float>{4, 4, 4}), y) << what;
    EXPECT_EQ((std::vector<int64_t>{3, 1, 1}), places) << what;  // ties: the first in (y, x) order
    const std::vector<float> dy = {1, 10, 100};
    max_pool_grad(ctx, p, dy.data(), places.data(), dx.data());
    EXPECT_EQ((std::vector<float>{0, 110, 0, 1, 0, 0}), dx) << what;
    average_pool(ctx, p, src.data(), average.data());
    EXPECT_EQ((std::vector<float>{2.5f, 2.25f, 2.75f}), average) << what;
    average_pool_grad(ctx, p, dy.data(), dx.data());
    EXPECT_EQ((std::vector<float>{3, 27.5f, 25, 3, 27.5f, 25}), dx) << what;
    p.count_include_pad = true;
    average_pool(ctx, p, src.data(), average.data());
    EXPECT_EQ(1.25f, average[0]) << what;
  });
}

TEST(PoolOracle, SpecialRules) {
  testing::for_each_context([](const KernelContext& ctx, const std::string& what) {
    PoolShape p;
    p.iw = 4, p.kw = 2, p.stride_w = 2, p.ow = 2;
    const std::vector<float> src = {-0.0f, 0.0f, INFINITY, -std::nanf("")};
    std::vector<float> y(2);
    std::vector<int64_t> places(2);
    max_pool(ctx, p, src.data(), y.data(), places.data());
    EXPECT_TRUE(testing::same_bits<float>({0.0f, numerics::nan_f32()}, y)) << what;
    EXPECT_EQ((std::vector<int64_t>{1, 3}), places) << what;
  });
}

}  // namespace
}  // namespace isobit::kernels
