#include "isobit/kernels/softmax/log_sum_exp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::Values;
using Dims = std::vector<int64_t>;

template <class T>
class LogSumExpTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LogSumExpTest, Types);

TYPED_TEST(LogSumExpTest, IsTheSameEverywhere) {
  using T = TypeParam;
  uint64_t seed = 0;
  for (const Dims& dims : std::vector<Dims>{{}, {7}, {3, 40}, {2, 3, 4}, {5, 1, 70}, {3, 2, 4, 3, 2}, {3, 0, 2}}) {
    size_t n = 1;
    for (int64_t d : dims) n *= static_cast<size_t>(d);
    for (uint64_t axes = 0; axes < uint64_t{1} << dims.size(); ++axes) {
      size_t results = 1;
      for (size_t d = 0; d < dims.size(); ++d) results *= axes >> d & 1 ? 1 : static_cast<size_t>(dims[d]);
      for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
        const auto src = random_values<T>(n, kind, ++seed);
        testing::expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
          std::vector<std::vector<T>> out(4, std::vector<T>(results));
          log_sum_exp(ctx, dims, axes, src.data(), out[0].data(), out[1].data(), out[2].data());
          log_sum_exp(ctx, dims, axes, src.data(), out[3].data());
          EXPECT_TRUE(testing::same_bits(out[0], out[3]));
          return out;
        });
      }
    }
  }
}

TYPED_TEST(LogSumExpTest, IsWhatItSays) {
  using T = TypeParam;
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t dims[] = {4, 30, 3};
  const auto src = random_values<T>(360, Values::kUnit, 3);
  std::vector<T> found(12);
  log_sum_exp(ctx, dims, 2, src.data(), found.data());
  for (size_t r = 0; r < 12; ++r) {
    double sum = 0;
    for (size_t a = 0; a < 30; ++a) sum += std::exp(static_cast<double>(src[r / 3 * 90 + a * 3 + r % 3]));
    EXPECT_NEAR(static_cast<double>(found[r]), std::log(sum), sizeof(T) == 4 ? 5e-7 : 1e-14);
  }
}

TYPED_TEST(LogSumExpTest, InfinitiesAndNothing) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
    const auto of = [&](std::vector<T> x) {
      T found;
      const int64_t dims[] = {static_cast<int64_t>(x.size())};
      log_sum_exp(ctx, dims, 1, x.data(), &found);
      return numerics::bits_of(found);
    };
    EXPECT_EQ(of({}), numerics::bits_of(-inf)) << what;
    EXPECT_EQ(of({-inf, -inf}), numerics::bits_of(-inf)) << what;
    EXPECT_EQ(of({-inf, T(3)}), numerics::bits_of(T(3))) << what;
    EXPECT_EQ(of({T(1), inf, -inf}), numerics::bits_of(inf)) << what;
    EXPECT_EQ(of({T(1), -nan}), numerics::bits_of(numerics::canonical(nan))) << what;
    EXPECT_EQ(of({T(-1e30), T(-1e30)}), numerics::bits_of(T(-1e30))) << what;
  });
}

}  // namespace
}  // namespace isobit::kernels
