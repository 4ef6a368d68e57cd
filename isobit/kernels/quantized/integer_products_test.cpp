#include "isobit/kernels/quantized/integer_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

std::vector<uint8_t> bytes(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> values(n);
  for (uint8_t& v : values) v = static_cast<uint8_t>(random());
  return values;
}

// Zero points of the operand's type.
std::vector<int32_t> zeros(size_t n, bool is_signed, uint64_t seed) {
  std::vector<int32_t> values;
  for (uint8_t v : bytes(n, seed)) values.push_back(is_signed ? int32_t{static_cast<int8_t>(v)} : int32_t{v});
  return values;
}

int64_t value(const std::vector<uint8_t>& bytes, int64_t i, bool is_signed) {
  const uint8_t v = bytes[static_cast<size_t>(i)];
  return is_signed ? int64_t{static_cast<int8_t>(v)} : int64_t{v};
}

TEST(IntegerMatmul, IsTheExactSum) {
  for (bool a_signed : {false, true}) {
    for (bool b_signed : {false, true}) {
      for (const auto& [m, n, k] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
               {1, 1, 1}, {3, 5, 0}, {65, 70, 33}, {2, 3, 5000}, {130, 1, 7}}) {
        // Two matrices of a; the third result is made of the first again, with another matrix of b.
        const auto a = bytes(static_cast<size_t>(2 * m * k), 1), b = bytes(static_cast<size_t>(3 * k * n), 2);
        const auto a_zero = zeros(static_cast<size_t>(2 * m), a_signed, 3),
                   b_zero = zeros(static_cast<size_t>(n), b_signed, 4);
        const std::vector<int64_t> a_matrices = {0, 1, 0}, b_matrices = {0, 1, 2};
        std::vector<int32_t> expected;
        for (size_t t = 0; t < 3; ++t) {
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              int64_t sum = 0;
              for (int64_t l = 0; l < k; ++l) {
                sum += (value(a, (a_matrices[t] * m + i) * k + l, a_signed) -
                        a_zero[static_cast<size_t>(a_matrices[t] * m + i)]) *
                       (value(b, (b_matrices[t] * k + l) * n + j, b_signed) - b_zero[static_cast<size_t>(j)]);
              }
              expected.push_back(static_cast<int32_t>(sum));
            }
          }
        }
        testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
          std::vector<int32_t> dst(expected.size(), 5);
          integer_matmul(ctx, {.m = m, .n = n, .k = k, .a_matrices = a_matrices, .b_matrices = b_matrices},
                         {a.data(), a_signed, {a_zero.data(), m, 1}}, {b.data(), b_signed, {b_zero.data(), 0, 1}},
                         dst.data());
          EXPECT_EQ(expected, dst) << what << " " << m << " " << n << " " << k;
        });
      }
    }
  }
}

TEST(IntegerMatmul, SumsWrapAround) {
  const int64_t k = 40000;  // times 255 * 255 is more than 2^31
  const std::vector<uint8_t> a(static_cast<size_t>(k), 255), b(static_cast<size_t>(k), 255);
  const int32_t zero = 0;
  const std::vector<int64_t> first = {0};
  ThreadPool pool(1);
  int32_t sum = 0;
  integer_matmul({best_isa(), &pool}, {.m = 1, .n = 1, .k = k, .a_matrices = first, .b_matrices = first},
                 {a.data(), false, {&zero}}, {b.data(), false, {&zero}}, &sum);
  EXPECT_EQ(sum, static_cast<int32_t>(static_cast<uint32_t>(k * 255 * 255)));
}

SlidingAxis axis(int64_t in, int64_t size, int64_t stride, int64_t dilation, int64_t pad) {
  SlidingAxis a{.in = in, .size = size, .stride = stride, .dilation = dilation, .pad = pad, .pad_end = pad};
  a.out = (in + 2 * pad - dilation * (size - 1) - 1) / stride + 1;
  return a;
}

TEST(IntegerConv, IsTheExactSumAndPaddingAddsNothing) {
  const std::vector<std::vector<SlidingAxis>> examples = {
      {axis(9, 3, 2, 1, 1)},
      {axis(5, 3, 1, 1, 1), axis(6, 2, 2, 2, 0)},
      {axis(3, 2, 1, 1, 1), axis(4, 3, 1, 1, 0), axis(5, 1, 2, 1, 0)}};
  for (const auto& axes : examples) {
    const int64_t n = 2, groups = 2, channels = 3, filters = 2;
    const auto product = [&](int64_t SlidingAxis::*member) {
      return extents_product(axes.size(), [&](size_t a) { return axes[a].*member; });
    };
    const int64_t places = product(&SlidingAxis::in), taps = product(&SlidingAxis::size),
                  windows = product(&SlidingAxis::out);
    const auto src = bytes(static_cast<size_t>(n * groups * channels * places), 1),
               weights = bytes(static_cast<size_t>(groups * filters * channels * taps), 2);
    const auto src_zero = zeros(1, false, 3), filter_zero = zeros(static_cast<size_t>(groups * filters), true, 4);
    const std::vector<int32_t> bias = {1, -2, 3, INT32_MAX};
    std::vector<int32_t> expected;
    for (int64_t image = 0; image < n; ++image) {
      for (int64_t f = 0; f < groups * filters; ++f) {
        for (int64_t w = 0; w < windows; ++w) {
          int64_t sum = bias[static_cast<size_t>(f)];
          for (int64_t c = 0; c < channels; ++c) {
            for (int64_t t = 0; t < taps; ++t) {
              int64_t place = 0, step = 1, window = w, tap = t;
              for (size_t a = axes.size(); a-- > 0;) {
                const int64_t at = axes[a].at(window % axes[a].out, tap % axes[a].size);
                place = at < 0 || at >= axes[a].in || place < 0 ? -1 : place + at * step;
                step *= axes[a].in;
                window /= axes[a].out;
                tap /= axes[a].size;
              }
              if (place < 0) continue;
              const int64_t channel = (image * groups + f / filters) * channels + c;
              sum += (value(src, channel * places + place, false) - src_zero[0]) *
                     (value(weights, (f * channels + c) * taps + t, true) - filter_zero[static_cast<size_t>(f)]);
            }
          }
          expected.push_back(static_cast<int32_t>(static_cast<uint32_t>(sum)));
        }
      }
    }
    testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
      std::vector<int32_t> dst(expected.size(), 5);
      integer_conv(ctx, {.n = n, .groups = groups, .channels = channels, .filters = filters, .axes = axes},
                   {src.data(), false, {src_zero.data()}}, {weights.data(), true, {filter_zero.data(), 0, 1}},
                   bias.data(), dst.data());
      EXPECT_EQ(expected, dst) << what;
    });
  }
}

// One product of 1 and x: the sum is x, and what becomes of it.
template <class T>
int rescaled(int32_t x, T left, T right, T scale, int32_t zero, bool is_signed) {
  const std::vector<uint8_t> one = {1}, number = {static_cast<uint8_t>(x)};
  const int32_t none = 0;
  const std::vector<int64_t> first = {0};
  uint8_t y = 0;
  ThreadPool pool(1);
  quantized_matmul<T>(
      {best_isa(), &pool}, {.m = 1, .n = 1, .k = 1, .a_matrices = first, .b_matrices = first},
      {one.data(), true, {&none}}, {number.data(), true, {&none}},
      {.left = {&left}, .right = {&right}, .scale = scale, .zero = zero, .is_signed = is_signed, .dst = &y});
  return is_signed ? static_cast<int8_t>(y) : y;
}

TEST(Requantised, RoundsToTheNearestAndTiesToEven) {
  for (const auto& [x, expected] :
       std::vector<std::pair<int, int>>{{0, 0}, {1, 0}, {2, 1}, {3, 2}, {5, 2}, {6, 3}, {7, 4}}) {
    EXPECT_EQ(rescaled<float>(x, 1, 0.5f, 1, 0, true), expected) << x;
    EXPECT_EQ(rescaled<double>(-x, 1, 1, 2, 0, true), -expected) << x;
  }
  EXPECT_EQ(rescaled<float>(1, 1, 0.5f, 1, 1, true), 1);  // rounded before the zero point is added
}

TEST(Requantised, IsLimitedToItsType) {
  EXPECT_EQ(rescaled<float>(100, 2, 1, 1, 0, true), 127);
  EXPECT_EQ(rescaled<float>(-100, 2, 1, 1, 0, true), -128);
  EXPECT_EQ(rescaled<float>(100, 2, 1, 1, 100, false), 255);
  EXPECT_EQ(rescaled<float>(-100, 2, 1, 1, 100, false), 0);
  EXPECT_EQ(rescaled<float>(1, 1e30f, 1, 1, 0, false), 255);
  EXPECT_EQ(rescaled<float>(-1, 1, 1, 0, 5, true), -128);  // minus infinity
  EXPECT_EQ(rescaled<float>(0, 1, 1, 0, 5, true), 5);      // 0 * inf
}

TEST(Requantised, LinesHaveTheirOwnScales) {
  ThreadPool pool(1);
  const std::vector<uint8_t> a = {1, 1}, b = {10, 10};  // [2, 1] times [1, 2]
  const std::vector<double> rows = {1, 2}, columns = {0.5, 3};
  const int32_t none = 0;
  const std::vector<int64_t> first = {0};
  std::vector<uint8_t> y(4);
  quantized_matmul<double>({best_isa(), &pool}, {.m = 2, .n = 2, .k = 1, .a_matrices = first, .b_matrices = first},
                           {a.data(), false, {&none}}, {b.data(), false, {&none}},
                           {.left = {rows.data(), 0, 1}, .right = {columns.data(), 0, 1}, .dst = y.data()});
  EXPECT_EQ(y, (std::vector<uint8_t>{5, 30, 10, 60}));
  const SlidingAxis line = axis(1, 1, 1, 1, 0);
  quantized_conv<double>({best_isa(), &pool}, {.n = 1, .channels = 1, .filters = 2, .axes = {&line, 1}},
                         {b.data(), false, {&none}}, {a.data(), false, {&none}}, nullptr,
                         {.left = {columns.data(), 0, 1}, .right = {rows.data()}, .dst = y.data()});
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[1], 30);
}

}  // namespace
}  // namespace isobit::kernels
