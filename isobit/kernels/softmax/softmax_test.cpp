#include "isobit/kernels/softmax/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

template <class T>
class SoftmaxTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SoftmaxTest, Types);

struct Size {
  int64_t rows, V;
};
constexpr Size kSizes[] = {{1, 1}, {3, 1}, {7, 10}, {5, 16}, {4, 33}, {0, 4}, {30, 200}, {2, 5000}};

std::vector<int64_t> some_labels(Size s, bool with_ignored) {
  std::vector<int64_t> labels;
  for (int64_t r = 0; r < s.rows; ++r) labels.push_back(with_ignored && r % 3 == 1 ? -100 : (r * 7 + 3) % s.V);
  return labels;
}

// Logits whose rows are mostly ordinary, so that one special value does not drown everything in NaN.
template <class T>
std::vector<T> logits_of(Size s, uint64_t seed) {
  auto x = random_values<T>(static_cast<size_t>(s.rows * s.V), Values::kUnit, seed);
  const auto special = random_values<T>(static_cast<size_t>(s.rows), Values::kSpecial, seed + 1);
  for (T& v : x) v *= T(seed % 3 == 0 ? 1 : 30);
  for (int64_t r = 0; r < s.rows; r += 2) x[static_cast<size_t>(r * s.V + r % s.V)] = special[static_cast<size_t>(r)];
  return x;
}

TYPED_TEST(SoftmaxTest, SoftmaxIsTheSameEverywhere) {
  using T = TypeParam;
  for (Size s : kSizes) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const size_t n = static_cast<size_t>(s.rows * s.V), rows = static_cast<size_t>(s.rows);
      const auto src = logits_of<T>(s, seed);
      const auto dy = random_values<T>(n, seed % 2 ? Values::kUnit : Values::kSpecial, seed + 50);
      // seed 0: no mask; else query groups of T with an offset, some rows fully masked.
      const CausalMask mask{seed % 2 ? 3 : 5, static_cast<int64_t>(seed) - 2 + (seed == 5 ? s.V / 2 : 0)};
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> y(n, T(7)), m(rows), sum(rows), dx(n, T(7)), grad_sum(rows);
        if (seed == 0) {
          softmax(ctx, s.rows, s.V, src.data(), y.data(), m.data(), sum.data());
          softmax_grad(ctx, s.rows, s.V, y.data(), dy.data(), dx.data(), grad_sum.data());
        } else {
          softmax_causal(ctx, s.rows, s.V, mask, src.data(), y.data(), m.data(), sum.data());
          softmax_causal_grad(ctx, s.rows, s.V, mask, y.data(), dy.data(), dx.data(), grad_sum.data());
        }
        std::vector<T> in_place = src;
        if (seed == 0) softmax(ctx, s.rows, s.V, in_place.data(), in_place.data());
        return std::vector<std::vector<T>>{y, m, sum, dx, grad_sum, in_place};
      });
    }
  }
}

TYPED_TEST(SoftmaxTest, LogSoftmaxAndCrossEntropyAreTheSameEverywhere) {
  using T = TypeParam;
  for (Size s : kSizes) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const size_t n = static_cast<size_t>(s.rows * s.V), rows = static_cast<size_t>(s.rows);
      const auto src = logits_of<T>(s, seed);
      const auto dy = random_values<T>(n, seed % 2 ? Values::kUnit : Values::kSpecial, seed + 50);
      const auto labels = some_labels(s, seed % 2);
      const CrossEntropyOptions options{seed % 2 == 1, -100};
      const int64_t count = s.rows - (options.has_ignore_index ? std::ranges::count(labels, options.ignore_index) : 0);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<T> y(n), m(rows), l(rows), dx(n), sum(rows), loss(rows), m2(rows), l2(rows), d(n), d_rows(n);
        log_softmax(ctx, s.rows, s.V, src.data(), y.data(), m.data(), l.data());
        log_softmax_grad(ctx, s.rows, s.V, y.data(), dy.data(), dx.data(), sum.data());
        softmax_cross_entropy(ctx, s.rows, s.V, options, src.data(), labels.data(), loss.data(), m2.data(), l2.data());
        softmax_cross_entropy_grad(ctx, s.rows, s.V, options, src.data(), labels.data(), m2.data(), l2.data(), T(0.7),
                                   count, d.data());
        softmax_cross_entropy_rows_grad(ctx, s.rows, s.V, options, src.data(), labels.data(), m2.data(), l2.data(),
                                        loss.data(), d_rows.data());
        const std::vector<T> mean = {cross_entropy_mean(ctx, s.rows, loss.data(), count)};
        return std::vector<std::vector<T>>{y, m, l, dx, sum, loss, m2, l2, d, d_rows, mean};
      });
    }
  }
}

// Against the textbook formula with the C library's functions in float64.
TEST(SoftmaxOracle, ValuesAndGradients) {
  ThreadPool pool(1);
  const int64_t V = 37;
  const auto x = random_values<float>(V, Values::kUnit, 3);
  const auto dy = random_values<float>(V, Values::kUnit, 4);
  double sum = 0, dot = 0, dy_sum = 0;
  for (float v : x) sum += std::exp(static_cast<double>(v));
  for (int64_t i = 0; i < V; ++i) {
    dot += std::exp(static_cast<double>(x[i])) / sum * dy[i];
    dy_sum += dy[i];
  }
  for (Isa isa : available_isas()) {
    const KernelContext ctx{isa, &pool};
    std::vector<float> y(V), dx(V), ly(V), ldx(V), d(V);
    float loss, m, l;
    const int64_t label = 5;
    softmax(ctx, 1, V, x.data(), y.data());
    softmax_grad(ctx, 1, V, y.data(), dy.data(), dx.data());
    log_softmax(ctx, 1, V, x.data(), ly.data());
    log_softmax_grad(ctx, 1, V, ly.data(), dy.data(), ldx.data());
    softmax_cross_entropy(ctx, 1, V, {}, x.data(), &label, &loss, &m, &l);
    softmax_cross_entropy_grad(ctx, 1, V, {}, x.data(), &label, &m, &l, 1.0f, 1, d.data());
    EXPECT_NEAR(std::log(sum) - x[label], loss, 1e-6);
    for (int64_t i = 0; i < V; ++i) {
      const double p = std::exp(static_cast<double>(x[i])) / sum;
      EXPECT_NEAR(p, y[i], 1e-7);
      EXPECT_NEAR(p * (dy[i] - dot), dx[i], 1e-7);
      EXPECT_NEAR(std::log(p), ly[i], 1e-6);
      EXPECT_NEAR(dy[i] - p * dy_sum, ldx[i], 2e-6);
      EXPECT_NEAR(p - (i == label), d[i], 1e-7);
    }
  }
}

TEST(SoftmaxOracle, MasksAndSpecialRows) {
  const float inf = INFINITY, nan = std::nanf("");
  testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
    // Query 0 sees nothing, query 1 one element; the NaNs stand in masked places.
    const std::vector<float> src = {nan, nan, nan, 5.0f, nan, -inf};
    std::vector<float> y(6, 9.0f), m(2), s(2);
    softmax_causal(ctx, 2, 3, CausalMask{2, -1}, src.data(), y.data(), m.data(), s.data());
    EXPECT_TRUE(testing::same_bits<float>({0, 0, 0, 1, 0, 0}, y)) << what;
    EXPECT_TRUE(testing::same_bits<float>({-inf, 5}, m)) << what;
    EXPECT_TRUE(testing::same_bits<float>({0, 1}, s)) << what;
    const float one = numerics::nan_f32();
    const std::vector<float> rows = {-inf, -inf, 1, inf, nan, 2, -inf, 3};
    std::vector<float> out(8);
    softmax(ctx, 4, 2, rows.data(), out.data());
    EXPECT_TRUE(testing::same_bits<float>({one, one, one, one, one, one, 0, 1}, out)) << what;
    EXPECT_EQ(0.0f, cross_entropy_mean(ctx, 2, y.data(), 0));
  });
}

}  // namespace
}  // namespace isobit::kernels
