#include "isobit/kernels/reduce/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>

#include "isobit/kernels/reduce/mpfr_oracle.h"
#include "isobit/kernels/reduce/reduce.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;
using Dims = std::vector<int64_t>;

const std::vector<Dims> kShapes = {{},          {5},    {3, 4},    {2, 3, 4}, {4, 1, 7, 2}, {3, 2, 4, 3, 2},
                                   {6, 20, 35}, {1, 1}, {3, 0, 2}, {0, 3},    {700},        {2, 3, 2, 3, 2, 3}};

int64_t elements_of(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// The elements of each result, found one index at a time.
template <class T>
std::vector<std::vector<T>> terms_of(const Dims& dims, uint64_t axes, const std::vector<T>& src) {
  int64_t results = 1;
  for (size_t d = 0; d < dims.size(); ++d) results *= axes >> d & 1 ? 1 : dims[d];
  std::vector<std::vector<T>> terms(static_cast<size_t>(results));
  std::vector<int64_t> at(dims.size());
  for (const T& x : src) {
    int64_t result = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!(axes >> d & 1)) result = result * dims[d] + at[d];
    }
    terms[static_cast<size_t>(result)].push_back(x);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
  return terms;
}

// f(dims, axes, seed) for some shapes and every set of axes.
void for_each_reduction(const std::function<void(const Dims&, uint64_t, uint64_t)>& f) {
  uint64_t seed = 0;
  for (const Dims& dims : kShapes) {
    for (uint64_t axes = 0; axes < uint64_t{1} << dims.size(); ++axes) f(dims, axes, ++seed);
  }
}

template <class T>
class FoldTest : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FoldTest, Floats);

TYPED_TEST(FoldTest, IsTheSameEverywhere) {
  using T = TypeParam;
  for_each_reduction([](const Dims& dims, uint64_t axes, uint64_t seed) {
    for (Values kind : {Values::kUnit, Values::kSpecial}) {
      const auto src = random_values<T>(static_cast<size_t>(elements_of(dims)), kind, seed);
      const size_t results = terms_of(dims, axes, src).size();
      const auto dy = random_values<T>(results, kind, seed + 5000);
      expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
        std::vector<std::vector<T>> out(7, std::vector<T>(results));
        std::vector<T> dx(src.size()), dx_min(dx), dx_prod(dx);
        reduce_min(ctx, dims, axes, src.data(), out[0].data());
        reduce_prod(ctx, dims, axes, src.data(), out[1].data());
        reduce_sum_of_squares(ctx, dims, axes, src.data(), out[2].data());
        reduce_extreme_grad(ctx, dims, axes, Extreme::kLargest, src.data(), dy.data(), dx.data(), out[3].data(),
                            out[4].data());
        reduce_l2(ctx, dims, axes, src.data(), out[5].data(), out[6].data());
        EXPECT_TRUE(testing::same_bits(out[2], out[6]));
        reduce_extreme_grad<T>(ctx, dims, axes, Extreme::kLeast, src.data(), dy.data(), dx_min.data(), nullptr,
                               nullptr);
        reduce_prod_grad(ctx, dims, axes, src.data(), dy.data(), dx_prod.data());
        out.insert(out.end(), {dx, dx_min, dx_prod});
        return out;
      });
    }
  });
}

// Each result against its own elements, in the written order.
TYPED_TEST(FoldTest, HasTheElementsOfItsResult) {
  using T = TypeParam;
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  for_each_reduction([&](const Dims& dims, uint64_t axes, uint64_t seed) {
    const auto src = random_values<T>(static_cast<size_t>(elements_of(dims)), Values::kUnit, seed);
    const auto terms = terms_of(dims, axes, src);
    std::vector<T> least(terms.size()), product(terms.size()), most(terms.size());
    reduce_min(ctx, dims, axes, src.data(), least.data());
    reduce_max(ctx, dims, axes, src.data(), most.data());
    reduce_prod(ctx, dims, axes, src.data(), product.data());
    for (size_t r = 0; r < terms.size(); ++r) {
      T p = 1;
      for (T x : terms[r]) p *= x;
      EXPECT_EQ(numerics::bits_of(p), numerics::bits_of(product[r]));
      const T inf = std::numeric_limits<T>::infinity();
      EXPECT_EQ(least[r], terms[r].empty() ? inf : *std::min_element(terms[r].begin(), terms[r].end()));
      EXPECT_EQ(most[r], terms[r].empty() ? -inf : *std::max_element(terms[r].begin(), terms[r].end()));
    }
  });
}

TEST(FoldOracle, SquaresAgainstMpfr) {
  ThreadPool pool(2);
  for (Isa isa : available_isas()) {
    for (const auto& [dims, axes] :
         std::vector<std::pair<Dims, uint64_t>>{{{3, 700}, 2}, {{300, 4}, 1}, {{9, 5, 8}, 5}}) {
      const auto src = random_values<float>(static_cast<size_t>(elements_of(dims)), Values::kUnit, axes);
      const auto terms = terms_of(dims, axes, src);
      std::vector<float> found(terms.size());
      reduce_sum_of_squares(KernelContext{isa, &pool}, dims, axes, src.data(), found.data());
      for (size_t r = 0; r < terms.size(); ++r) EXPECT_EQ(testing::mpfr_moments(terms[r]).squares, found[r]);
    }
  }
  // Between two float32: the bound of the float64 sum cannot tell.
  const std::vector<float> tie = {0x1p12f, 1.0f, 0x1p-60f};
  float found;
  const int64_t dims[] = {3};
  reduce_sum_of_squares(KernelContext{best_isa(), &pool}, dims, 1, tie.data(), &found);
  EXPECT_EQ(found, 0x1.000002p24f);
}

TEST(FoldOracle, SpecialRules) {
  const float nan = numerics::f32_from_bits(0xffc00123u), inf = INFINITY;
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const auto of = [&](auto reduce, std::vector<float> x) {
    float r;
    const int64_t dims[] = {static_cast<int64_t>(x.size())};
    reduce(ctx, std::span<const int64_t>(dims), uint64_t{1}, x.data(), &r);
    return numerics::bits_of(r);
  };
  const auto min = [](const auto&... a) { reduce_min<float>(a...); };
  const auto prod = [](const auto&... a) { reduce_prod<float>(a...); };
  EXPECT_EQ(of(min, {0.0f, -0.0f, 0.0f}), 0x80000000u);
  EXPECT_EQ(of(min, {0.0f, 1.0f}), 0u);
  EXPECT_EQ(of(min, {-inf, nan, 3.0f}), numerics::kNanBitsF32);
  EXPECT_EQ(of(min, {}), numerics::bits_of(inf));
  EXPECT_EQ(of(prod, {}), numerics::bits_of(1.0f));
  EXPECT_EQ(of(prod, {-0.0f}), 0x80000000u);
  EXPECT_EQ(of(prod, {nan, 1.0f}), numerics::kNanBitsF32);
  EXPECT_EQ(of(prod, {inf, 0.0f}), numerics::kNanBitsF32);
  EXPECT_EQ(of(prod, {1e30f, 1e30f, 1e-30f}), numerics::bits_of(inf)) << "from the first to the last";
  EXPECT_NE(of(prod, {1e30f, 1e-30f, 1e30f}), numerics::bits_of(inf));
}

TEST(FoldOracle, EqualExtremesShareTheirGradient) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t dims[] = {2, 4};
  const std::vector<double> x = {3, -1, 3, -1, 0.0, -0.0, -5, std::nan("")}, dy = {6, 8};
  std::vector<double> dx(8), count(2), extreme(2);
  reduce_extreme_grad(ctx, dims, 2, Extreme::kLargest, x.data(), dy.data(), dx.data(), extreme.data(), count.data());
  EXPECT_EQ(dx, (std::vector<double>{3, 0, 3, 0, 0, 0, 0, 0})) << "of a NaN there is none";
  EXPECT_EQ(count, (std::vector<double>{2, 0}));
  EXPECT_EQ(extreme[0], 3);
  const std::vector<double> zeros = {0.0, -0.0, -5, -0.0, 1, 2, 3, 1};
  reduce_extreme_grad<double>(ctx, dims, 2, Extreme::kLargest, zeros.data(), dy.data(), dx.data(), nullptr, nullptr);
  EXPECT_EQ(dx, (std::vector<double>{2, 2, 0, 2, 0, 0, 8, 0})) << "both zeros are one number";
  reduce_extreme_grad<double>(ctx, dims, 2, Extreme::kLeast, zeros.data(), dy.data(), dx.data(), nullptr, nullptr);
  EXPECT_EQ(dx, (std::vector<double>{0, 0, 6, 0, 4, 0, 0, 4}));
}

TEST(FoldOracle, GradientsOfProductsLeaveTheElementOut) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t dims[] = {3, 3};
  // Small whole numbers: every product is exact. One zero in a column, two in another.
  const std::vector<float> x = {2, 0, 0, 3, 5, 7, -4, 2, 0}, dy = {1, 10, 100};
  std::vector<float> dx(9);
  reduce_prod_grad(ctx, dims, 1, x.data(), dy.data(), dx.data());
  EXPECT_EQ(dx, (std::vector<float>{-12, 100, 0, -8, 0, 0, 6, 0, 0}));
}

template <class T>
class IntegerFoldTest : public ::testing::Test {};
using Integers = ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntegerFoldTest, Integers);

TYPED_TEST(IntegerFoldTest, WrapsAndCompares) {
  using T = TypeParam;
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  ThreadPool pool(3);
  for_each_reduction([&](const Dims& dims, uint64_t axes, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> src(static_cast<size_t>(elements_of(dims)));
    for (T& x : src) x = static_cast<T>(random());
    const auto terms = terms_of(dims, axes, src);
    std::vector<T> sum(terms.size()), mean(sum), max(sum), min(sum), prod(sum), squares(sum);
    const KernelContext ctx{best_isa(), &pool};
    reduce_sum<T>(ctx, dims, axes, src.data(), sum.data());
    if (!src.empty()) reduce_mean<T>(ctx, dims, axes, src.data(), mean.data());
    reduce_max<T>(ctx, dims, axes, src.data(), max.data());
    reduce_min<T>(ctx, dims, axes, src.data(), min.data());
    reduce_prod<T>(ctx, dims, axes, src.data(), prod.data());
    reduce_sum_of_squares<T>(ctx, dims, axes, src.data(), squares.data());
    for (size_t r = 0; r < terms.size(); ++r) {
      Wide s = 0;
      T p = 1, q = 0;
      for (T x : terms[r]) {
        s += x;
        p = static_cast<T>(static_cast<Wide>(p) * x);
        q = static_cast<T>(static_cast<Wide>(q) + static_cast<Wide>(x) * x);
      }
      EXPECT_EQ(static_cast<T>(s), sum[r]);
      EXPECT_EQ(p, prod[r]);
      EXPECT_EQ(q, squares[r]);
      using L = std::numeric_limits<T>;
      EXPECT_EQ(max[r], terms[r].empty() ? L::lowest() : *std::max_element(terms[r].begin(), terms[r].end()));
      EXPECT_EQ(min[r], terms[r].empty() ? L::max() : *std::min_element(terms[r].begin(), terms[r].end()));
      if (terms[r].empty()) continue;
      EXPECT_EQ(static_cast<T>(static_cast<Wide>(sum[r]) / static_cast<Wide>(terms[r].size())), mean[r]);
    }
  });
}

TEST(FoldOracle, MeansOfIntegersAreCutOff) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t dims[] = {2};
  const int32_t x[] = {-3, -4};
  int32_t mean;
  reduce_mean<int32_t>(ctx, dims, 1, x, &mean);
  EXPECT_EQ(mean, -3) << "-3.5 towards zero";
}

// Any byte but 0 is true; results are 1 and 0.
TEST(FoldOracle, TruthOfBytes) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const uint8_t x[] = {0, 2, 255, 0, 0, 0, 7, 1, 1};
  const int64_t dims[] = {3, 3};
  std::vector<uint8_t> any(3), all(3);
  reduce_any(ctx, dims, 2, x, any.data());
  reduce_all(ctx, dims, 2, x, all.data());
  EXPECT_EQ(any, (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(all, (std::vector<uint8_t>{0, 0, 1}));
  const int64_t none[] = {2, 0};
  reduce_any(ctx, none, 2, nullptr, any.data());
  reduce_all(ctx, none, 2, nullptr, all.data());
  EXPECT_EQ((std::vector<uint8_t>{any[0], any[1], all[0], all[1]}), (std::vector<uint8_t>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace isobit::kernels
