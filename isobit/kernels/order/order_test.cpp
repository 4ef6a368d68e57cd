#include "isobit/kernels/order/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

constexpr AxisView kViews[] = {{1, 1, 1}, {3, 5, 1}, {2, 7, 3}, {1, 40, 70}, {4, 300, 1}, {2, 3, 200}, {0, 4, 2}};

// Few values, so that nearly every line has equal ones.
template <class T>
std::vector<T> some_values(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  using L = std::numeric_limits<T>;
  for (T& v : x) {
    const uint64_t word = random();
    v = static_cast<T>(word % 9) - static_cast<T>(std::is_signed_v<T> ? 4 : 0);
    if (word % 31 == 0) v = L::lowest();
    if (word % 37 == 0) v = L::max();
    if constexpr (std::is_floating_point_v<T>) {
      const auto special = testing::special_values<T>();
      if (seed % 2 == 1 && word % 5 == 0) v = special[word / 5 % special.size()];
    }
  }
  return x;
}

// Whether a stands before b: -inf < ... < -0 = +0 < ... < +inf < NaN.
template <class T>
bool below(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  }
  return a < b;
}

template <class T>
class OrderTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(OrderTest, Types);

template <class T>
std::vector<T> line_of(AxisView v, const std::vector<T>& src, int64_t line) {
  std::vector<T> x;
  for (int64_t a = 0; a < v.axis; ++a) {
    x.push_back(src[static_cast<size_t>((line / v.inner * v.axis + a) * v.inner + line % v.inner)]);
  }
  return x;
}

TYPED_TEST(OrderTest, PlacesOfExtremes) {
  using T = TypeParam;
  ThreadPool pool(3);
  const KernelContext ctx{best_isa(), &pool};
  uint64_t seed = 0;
  for (AxisView v : kViews) {
    for (int round = 0; round < 2; ++round) {
      const auto src = some_values<T>(static_cast<size_t>(v.outer * v.axis * v.inner), ++seed);
      for (Extreme extreme : {Extreme::kLargest, Extreme::kLeast}) {
        for (Among among : {Among::kFirst, Among::kLast}) {
          std::vector<int64_t> found(static_cast<size_t>(v.outer * v.inner));
          place_of_extreme(ctx, v, extreme, among, src.data(), found.data());
          for (int64_t line = 0; line < v.outer * v.inner; ++line) {
            const std::vector<T> x = line_of(v, src, line);
            size_t best = 0;
            const auto better = [&](T a, T b) {
              if (extreme == Extreme::kLargest) return below(b, a);
              // Of the least a NaN is found before everything else.
              if (a != a || b != b) return a != a && b == b;
              return below(a, b);
            };
            for (size_t a = 1; a < x.size(); ++a) {
              if (better(x[a], x[best]) || (among == Among::kLast && !better(x[best], x[a]))) best = a;
            }
            ASSERT_EQ(found[static_cast<size_t>(line)], static_cast<int64_t>(best)) << "seed " << seed;
          }
        }
      }
    }
  }
}

TYPED_TEST(OrderTest, TopKIsTheBeginningOfAStableSort) {
  using T = TypeParam;
  ThreadPool pool(3);
  const KernelContext ctx{best_isa(), &pool};
  uint64_t seed = 100;
  for (AxisView v : kViews) {
    for (int64_t k : {int64_t{0}, int64_t{1}, v.axis / 2, v.axis}) {
      const auto src = some_values<T>(static_cast<size_t>(v.outer * v.axis * v.inner), ++seed);
      for (Extreme extreme : {Extreme::kLargest, Extreme::kLeast}) {
        std::vector<T> values(static_cast<size_t>(v.outer * k * v.inner));
        std::vector<int64_t> places(values.size());
        top_k(ctx, v, k, extreme, src.data(), values.data(), places.data());
        for (int64_t line = 0; line < v.outer * v.inner; ++line) {
          const std::vector<T> x = line_of(v, src, line);
          std::vector<int64_t> order(x.size());
          for (size_t a = 0; a < x.size(); ++a) order[a] = static_cast<int64_t>(a);
          std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            const T p = x[static_cast<size_t>(a)], q = x[static_cast<size_t>(b)];
            return extreme == Extreme::kLargest ? below(q, p) : below(p, q);
          });
          order.resize(static_cast<size_t>(k));
          const AxisView taken{v.outer, k, v.inner};
          ASSERT_EQ(line_of(taken, places, line), order) << "seed " << seed;
          std::vector<T> expected;
          for (int64_t a : order) expected.push_back(x[static_cast<size_t>(a)]);
          ASSERT_TRUE(testing::same_bits(expected, line_of(taken, values, line))) << "seed " << seed;
        }
      }
    }
  }
}

// The place decides, as it does for any other equal elements; the bits are given out as they are.
TEST(Order, ZerosOfBothSignsAreEqual) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<float> src = {-0.0f, 0.0f, -0.0f, 0.0f};
  for (Extreme extreme : {Extreme::kLargest, Extreme::kLeast}) {
    int64_t first = -1, last = -1;
    place_of_extreme(ctx, {1, 4, 1}, extreme, Among::kFirst, src.data(), &first);
    place_of_extreme(ctx, {1, 4, 1}, extreme, Among::kLast, src.data(), &last);
    EXPECT_EQ(first, 0);
    EXPECT_EQ(last, 3);
    std::vector<float> values(4);
    std::vector<int64_t> places(4);
    top_k(ctx, {1, 4, 1}, 4, extreme, src.data(), values.data(), places.data());
    EXPECT_EQ(places, (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_TRUE(testing::same_bits(src, values)) << "a zero lost its sign";
  }
}

TYPED_TEST(OrderTest, IsTheSameEverywhere) {
  using T = TypeParam;
  const AxisView v{3, 50, 7};
  const auto src = some_values<T>(static_cast<size_t>(v.outer * v.axis * v.inner), 7);
  testing::expect_same_everywhere("", [&](const KernelContext& ctx) {
    std::vector<std::vector<int64_t>> out(3, std::vector<int64_t>(21));
    std::vector<T> values(21 * 5);
    out[2].resize(21 * 5);
    place_of_extreme(ctx, v, Extreme::kLargest, Among::kFirst, src.data(), out[0].data());
    place_of_extreme(ctx, v, Extreme::kLeast, Among::kLast, src.data(), out[1].data());
    top_k(ctx, v, 5, Extreme::kLargest, src.data(), values.data(), out[2].data());
    return out;
  });
}

TEST(OrderOracle, GradientsGoBackToTheirPlaces) {
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  // [2, 3, 2] from [2, 2, 2]; in the last line both values are of one place.
  const std::vector<int64_t> places = {2, 0, 0, 1, 1, 2, 0, 2};
  const std::vector<float> dy = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> dx(12, -1.0f);
  top_k_grad(ctx, {2, 3, 2}, 2, places.data(), dy.data(), dx.data());
  EXPECT_EQ(dx, (std::vector<float>{3, 2, 0, 4, 1, 0, 7, 0, 5, 0, 0, 8}));
}

}  // namespace
}  // namespace isobit::kernels
