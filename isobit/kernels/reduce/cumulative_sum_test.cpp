#include "isobit/kernels/reduce/cumulative_sum.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/kernels/reduce/mpfr_oracle.h"
#include "isobit/kernels/testing.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::Values;

constexpr AxisView kViews[] = {{1, 1, 1}, {3, 0, 2}, {1, 7, 1}, {5, 10, 1}, {2, 33, 3}, {1, 600, 2}, {0, 4, 2}};
constexpr CumulativeSumForm kForms[] = {{}, {.exclusive = true}, {.reverse = true}, {true, true}};

// The terms of place a of a line, in the order in which they are added.
template <class T>
std::vector<T> terms(const std::vector<T>& line, size_t a, CumulativeSumForm form) {
  std::vector<T> order = line;
  if (form.reverse) std::reverse(order.begin(), order.end());
  order.resize((form.reverse ? line.size() - 1 - a : a) + (form.exclusive ? 0 : 1));
  return order;
}

template <class T>
T sum_of(const std::vector<T>& terms) {
  if constexpr (std::is_same_v<T, float>) {
    return testing::mpfr_moments(terms.empty() ? std::vector<float>{0.0f} : terms).sum + 0.0f;
  } else if constexpr (std::is_same_v<T, double>) {
    return numerics::sum_ordered_f64(terms.data(), static_cast<int64_t>(terms.size()));
  } else {
    uint64_t sum = 0;
    for (T x : terms) sum += static_cast<uint64_t>(x);
    return static_cast<T>(sum);
  }
}

template <class T>
std::vector<T> some_values(size_t n, uint64_t seed) {
  if constexpr (std::is_floating_point_v<T>) {
    return random_values<T>(n, Values::kUnit, seed);
  } else {
    std::mt19937_64 random(seed);
    std::vector<T> x(n);
    for (T& v : x) v = static_cast<T>(random());
    return x;
  }
}

template <class T>
class CumulativeSumTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(CumulativeSumTest, Types);

TYPED_TEST(CumulativeSumTest, IsTheSumOfABeginningOrAnEnd) {
  using T = TypeParam;
  ThreadPool pool(3);
  const KernelContext ctx{best_isa(), &pool};
  uint64_t seed = 0;
  for (AxisView v : kViews) {
    const auto src = some_values<T>(static_cast<size_t>(v.outer * v.axis * v.inner), ++seed);
    for (CumulativeSumForm form : kForms) {
      std::vector<T> dst(src.size()), in_place = src;
      cumulative_sum(ctx, v, form, src.data(), dst.data());
      cumulative_sum(ctx, v, form, in_place.data(), in_place.data());
      EXPECT_TRUE(testing::same_bits(dst, in_place));
      for (int64_t line = 0; line < v.outer * v.inner; ++line) {
        const int64_t first = line / v.inner * v.axis * v.inner + line % v.inner;
        std::vector<T> x;
        for (int64_t a = 0; a < v.axis; ++a) x.push_back(src[static_cast<size_t>(first + a * v.inner)]);
        for (size_t a = 0; a<x.size(); a += x.size()> 100 ? 37 : 1) {
          ASSERT_EQ(sum_of(terms(x, a, form)), dst[static_cast<size_t>(first) + a * static_cast<size_t>(v.inner)])
              << "seed " << seed << " place " << a;
        }
      }
    }
  }
}

TYPED_TEST(CumulativeSumTest, IsTheSameEverywhere) {
  using T = TypeParam;
  std::vector<T> src = some_values<T>(600, 9);
  if constexpr (std::is_floating_point_v<T>) src = random_values<T>(600, Values::kSpecial, 9);
  for (CumulativeSumForm form : kForms) {
    testing::expect_same_everywhere("", [&](const KernelContext& ctx) {
      std::vector<T> dst(src.size());
      cumulative_sum(ctx, {20, 6, 5}, form, src.data(), dst.data());
      return std::vector<std::vector<T>>{dst};
    });
  }
}

// What a running total in float32 would lose comes back.
TEST(CumulativeSumOracle, EveryPlaceIsRoundedByItself) {
  ThreadPool pool(1);
  const std::vector<float> x = {0x1p30f, 1.0f, -0x1p30f, -1.0f, -0.0f};
  std::vector<float> dst(5);
  cumulative_sum(KernelContext{best_isa(), &pool}, {1, 5, 1}, {}, x.data(), dst.data());
  EXPECT_TRUE(testing::same_bits<float>({0x1p30f, 0x1p30f, 1.0f, 0.0f, 0.0f}, dst));
}

}  // namespace
}  // namespace isobit::kernels
