#include "isobit/numerics/exact_sum.h"

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

// Exact in MPFR: 1400 bits hold any sum of products of float32 and its products with element counts.
class Exact {
 public:
  Exact() {
    mpfr_init2(sum_, 1400);
    mpfr_init2(squares_, 1400);
    mpfr_init2(t_, 1400);
    mpfr_set_zero(sum_, 1);
    mpfr_set_zero(squares_, 1);
  }
  explicit Exact(const std::vector<float>& x) : Exact() {
    for (const float v : x) add(v);
  }
  ~Exact() { mpfr_clears(sum_, squares_, t_, static_cast<mpfr_ptr>(nullptr)); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  void add(float v) {
    mpfr_set_flt(t_, v, MPFR_RNDN);
    mpfr_add(sum_, sum_, t_, MPFR_RNDN);
    mpfr_sqr(t_, t_, MPFR_RNDN);
    mpfr_add(squares_, squares_, t_, MPFR_RNDN);
    ++n_;
  }
  float sum() { return rounded(sum_); }
  float squares() { return rounded(squares_); }
  float mean() {
    // A quotient of 1400 bits that is no tie of float32 is never rounded onto one: its distance from one is over
    // 2^-700.
    mpfr_div_ui(t_, sum_, n_, MPFR_RNDN);
    return rounded(t_);
  }
  float variance() {
    mpfr_sqr(t_, sum_, MPFR_RNDN);
    mpfr_mul_ui(squares_, squares_, n_, MPFR_RNDN);
    mpfr_sub(t_, squares_, t_, MPFR_RNDN);
    mpfr_div_ui(t_, t_, n_, MPFR_RNDN);
    mpfr_div_ui(t_, t_, n_, MPFR_RNDN);
    return rounded(t_);
  }

 private:
  static float rounded(mpfr_t v) { return mpfr_zero_p(v) ? 0.0f : canonical(mpfr_get_flt(v, MPFR_RNDN)); }
  mpfr_t sum_, squares_, t_;
  unsigned long n_ = 0;
};

::testing::AssertionResult same_bits(float found, float expected) {
  if (bits_of(found) == bits_of(expected)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hexfloat << "found " << found << ", expected " << expected;
}

void check_all(const std::vector<float>& x) {
  const auto n = static_cast<int64_t>(x.size());
  EXPECT_TRUE(same_bits(sum_rounded(x.data(), n), Exact(x).sum()));
  EXPECT_TRUE(same_bits(sum_of_squares_rounded(x.data(), n), Exact(x).squares()));
  const StridedSegment s{x.data(), n, 1};
  EXPECT_TRUE(same_bits(sum_exactly(&s, 1), Exact(x).sum()));
  EXPECT_TRUE(same_bits(sum_of_squares_exactly(&s, 1), Exact(x).squares()));
  if (n == 0) return;
  const MeanVariance mv = mean_variance_rounded(x.data(), n);
  EXPECT_TRUE(same_bits(mean_rounded(x.data(), n), Exact(x).mean()));
  EXPECT_TRUE(same_bits(mv.mean, Exact(x).mean()));
  EXPECT_TRUE(same_bits(mv.variance, Exact(x).variance()));
  EXPECT_TRUE(same_bits(mean_exactly(&s, 1), Exact(x).mean()));
  EXPECT_TRUE(same_bits(variance_exactly(&s, 1), Exact(x).variance()));
}

float any_finite(uint32_t bits) {
  const float v = f32_from_bits(bits);
  return is_finite(v) ? v : f32_from_bits(bits & 0xff7fffffu);
}

RC_GTEST_PROP(ExactSum, AnyFiniteValues, (const std::vector<uint32_t>& bits)) {
  std::vector<float> x;
  for (const uint32_t b : bits) x.push_back(any_finite(b * 2654435761u));  // small numbers shrink, values stay wide
  check_all(x);
  RC_ASSERT(!::testing::Test::HasFailure());
}

RC_GTEST_PROP(ExactSum, NarrowExponents, (const std::vector<uint32_t>& bits, uint8_t base, uint8_t span)) {
  std::vector<float> x;
  for (const uint32_t b : bits) {
    const uint32_t h = b * 2654435761u;
    const uint32_t exponent = std::min<uint32_t>(254, base + (h >> 3) % (span % 40 + 1u));
    x.push_back(f32_from_bits((h & 0x80000000u) | exponent << 23 | (h * 40503u & 0x7fffffu)));
  }
  check_all(x);
  RC_ASSERT(!::testing::Test::HasFailure());
}

// Pairs that cancel to nothing around a small rest.
RC_GTEST_PROP(ExactSum, MassiveCancellation, (const std::vector<uint32_t>& bits, uint32_t rest, uint32_t seed)) {
  std::vector<float> x = {any_finite(rest)};
  for (const uint32_t b : bits) {
    x.push_back(any_finite(b * 2654435761u));
    x.push_back(-x.back());
  }
  std::shuffle(x.begin(), x.end(), std::mt19937(seed));
  check_all(x);
  RC_ASSERT(!::testing::Test::HasFailure());
}

// The exact sum is a midpoint of two float32 numbers plus or minus 2^-j of an ulp, or exactly the midpoint. A filter
// with a bound of zero passes what float64 has already rounded onto the midpoint, and fails here.
TEST(ExactSum, NearTies) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const float big = f32_from_bits((static_cast<uint32_t>(random()) & 0x807fffffu) |
                                    (100u + static_cast<uint32_t>(random() % 60)) << 23);
    const float ulp = f32_from_bits((bits_of(big) & 0x7f800000u) - (23u << 23));
    std::vector<float> x = {big, ulp / 2};
    const int j = 2 + static_cast<int>(random() % 60);
    if (round % 5 != 0) x.push_back(std::ldexp(random() & 1 ? ulp : -ulp, -j));
    // noise that cancels
    for (uint64_t i = random() % 40; i > 0; --i) {
      const float v =
          std::ldexp(big, static_cast<int>(random() % 40) - 30) * (1 + static_cast<float>(random() % 1000) / 1024);
      x.push_back(v);
      x.push_back(-v);
    }
    std::shuffle(x.begin(), x.end(), random);
    ASSERT_TRUE(same_bits(sum_rounded(x.data(), static_cast<int64_t>(x.size())), Exact(x).sum())) << "round " << round;
  }
}

// n sum x^2 - (sum x)^2 and sum / n next to midpoints: values near a large mean, few distinct ones.
TEST(ExactSum, MeansAndVariancesNearTies) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 4000; ++round) {
    const float centre =
        std::ldexp(1.0f + static_cast<float>(random() % 256) / 256, static_cast<int>(random() % 60) - 30);
    const float ulp = next_up(centre) - centre;
    std::vector<float> x(1 + random() % 64, centre);
    for (float& v : x) v += ulp * static_cast<float>(static_cast<int>(random() % 9) - 4);
    if (round % 3 == 0) x.push_back(centre * 0x1p-60f);
    if (round % 7 == 0) x.push_back(-centre);
    check_all(x);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

// A variance of two values a, b is ((a - b) / 2)^2: with (a - b)/2 of 13 bits or so its square is exactly
// representable, a midpoint, or next to one.
TEST(ExactSum, VarianceOfTwoValuesOnMidpoints) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    const float half = static_cast<float>((random() % 8192) * 2 + 1);
    const float a = half * 2 + static_cast<float>(random() % 3), b = static_cast<float>(random() % 2);
    const std::vector<float> x = {a, b};
    ASSERT_TRUE(same_bits(mean_variance_rounded(x.data(), 2).variance, Exact(x).variance())) << a << " " << b;
  }
}

// {2h, b}: the variance is (h - b/2)^2; h^2 has 25 bits and is a midpoint, and a b too small for float64 decides.
TEST(ExactSum, VarianceBesideMidpoints) {
  for (int h = 4097; h < 5792; h += 2) {
    const float b = std::ldexp(h % 4 == 1 ? 1.0f : -1.0f, -25 - h % 100);
    for (const std::vector<float>& x :
         {std::vector<float>{2.0f * static_cast<float>(h), b}, {b, 2.0f * static_cast<float>(h)}}) {
      ASSERT_TRUE(same_bits(mean_variance_rounded(x.data(), 2).variance, Exact(x).variance())) << h;
    }
    const std::vector<float> y = {2.0f * static_cast<float>(h), -b};
    ASSERT_TRUE(same_bits(mean_variance_rounded(y.data(), 2).variance, Exact(y).variance())) << h;
  }
}

TEST(ExactSum, ColumnsBesideMidpoints) {
  constexpr int64_t kCols = 96;
  std::vector<float> x(3 * kCols), found(kCols);
  for (size_t c = 0; c < kCols; ++c) {
    x[c] = c % 2 ? 1.0f : next_up(1.0f);
    x[kCols + c] = 0x1p-24f;
    x[2 * kCols + c] = std::ldexp(c % 4 < 2 ? 1.0f : -1.0f, -60 - static_cast<int>(c % 90));
  }
  sum_columns_rounded(x.data(), 3, kCols, kCols, found.data());
  for (size_t c = 0; c < kCols; ++c) {
    EXPECT_TRUE(same_bits(found[c], Exact({x[c], x[kCols + c], x[2 * kCols + c]}).sum())) << c;
  }
}

TEST(ExactSum, LongArraysOfEveryLayout) {
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal(0.1f, 1);
  std::vector<float> x(70001);
  for (float& v : x) v = normal(random);
  check_all(x);
  for (const int64_t n : {1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 1000, 8191, 8192, 8193, 16389}) {
    check_all({x.begin(), x.begin() + n});
  }
  // the same elements as segments of all kinds
  std::vector<StridedSegment> segments;
  std::vector<float> copy;
  int64_t begin = 0;
  for (const auto& [count, stride] : std::vector<std::pair<int64_t, int64_t>>{
           {49, 1}, {1, 1}, {300, 7}, {0, 1}, {513, -1}, {5, 0}, {9000, 1}, {33, 2}}) {
    const float* first = x.data() + begin + (stride < 0 ? count : 0);
    segments.push_back({first, count, stride});
    for (int64_t i = 0; i < count; ++i) copy.push_back(first[i * stride]);
    begin += 977;
  }
  EXPECT_TRUE(same_bits(sum_rounded(segments), Exact(copy).sum()));
  EXPECT_TRUE(same_bits(sum_of_squares_rounded(segments), Exact(copy).squares()));
  EXPECT_TRUE(same_bits(mean_rounded(segments), Exact(copy).mean()));
  EXPECT_TRUE(same_bits(mean_variance_rounded(segments).variance, Exact(copy).variance()));
}

TEST(ExactSum, Columns) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal(0, 1);
  for (const int64_t cols : {1, 3, 8, 37, 100}) {
    const int64_t rows = 700, stride = cols + 3;
    std::vector<float> x(static_cast<size_t>(rows * stride)), found(static_cast<size_t>(cols));
    for (float& v : x) v = normal(random);
    for (int64_t r = 0; r < rows / 2; ++r)
      x[static_cast<size_t>(r * stride)] = -x[static_cast<size_t>((rows - 1 - r) * stride)];
    if (cols > 3) x[3] = kInf, x[static_cast<size_t>(stride) + 2] = -kInf, x[2] = kInf;
    sum_columns_rounded(x.data(), rows, cols, stride, found.data());
    for (int64_t c = 0; c < cols; ++c) {
      Exact exact;
      for (int64_t r = 0; r < rows; ++r) exact.add(x[static_cast<size_t>(r * stride + c)]);
      EXPECT_TRUE(same_bits(found[static_cast<size_t>(c)], exact.sum())) << cols << " " << c;
    }
  }
  float zero[4] = {1, 1, 1, 1};
  sum_columns_rounded(nullptr, 0, 4, 4, zero);
  for (const float z : zero) EXPECT_TRUE(same_bits(z, 0.0f));
}

TEST(ExactSum, SpecialValues) {
  const auto sum = [](std::vector<float> x) { return sum_rounded(x.data(), static_cast<int64_t>(x.size())); };
  EXPECT_TRUE(same_bits(sum({}), 0.0f));
  EXPECT_TRUE(same_bits(sum({-0.0f}), 0.0f));
  EXPECT_TRUE(same_bits(sum({-0.0f, -0.0f}), 0.0f));
  EXPECT_TRUE(same_bits(sum({1, -1}), 0.0f));
  EXPECT_TRUE(same_bits(sum({0x1p-149f, -0x1p-149f}), 0.0f));
  EXPECT_TRUE(same_bits(sum({kInf, 1}), kInf));
  EXPECT_TRUE(same_bits(sum({-kInf, 1}), -kInf));
  EXPECT_TRUE(same_bits(sum({kInf, -kInf}), nan_f32()));
  EXPECT_TRUE(same_bits(sum({f32_from_bits(0xffc12345u), 1}), nan_f32()));
  EXPECT_TRUE(same_bits(sum({kMax, kMax}), kInf));
  EXPECT_TRUE(same_bits(sum({kMax, kMax, -kMax}), kMax));
  EXPECT_TRUE(same_bits(sum({kMax, 0x1p103f}), kInf));              // the tie with 2^128
  EXPECT_TRUE(same_bits(sum({kMax, 0x1p103f, -0x1p-149f}), kMax));  // just below it
  EXPECT_TRUE(same_bits(sum({0x1p-149f, 0x1p-149f}), 0x1p-148f));
  EXPECT_TRUE(same_bits(sum({1, 0x1p-24f}), 1.0f));
  EXPECT_TRUE(same_bits(sum({1, 0x1p-24f, 0x1p-149f}), next_up(1.0f)));
  EXPECT_TRUE(same_bits(sum({1, 0x1p-24f, -0x1p-149f}), 1.0f));
  EXPECT_TRUE(same_bits(sum({next_up(1.0f), 0x1p-24f, -0x1p-149f}), next_up(1.0f)));
  const float tiny[] = {-0x1p-149f, 0, 0};
  EXPECT_TRUE(same_bits(mean_rounded(tiny, 3), -0.0f));  // underflows, keeps its sign
  const float with_inf[] = {1, kInf};
  EXPECT_TRUE(same_bits(mean_variance_rounded(with_inf, 2).mean, kInf));
  EXPECT_TRUE(same_bits(mean_variance_rounded(with_inf, 2).variance, nan_f32()));
  const float equal[] = {0.1f, 0.1f, 0.1f};
  EXPECT_TRUE(same_bits(mean_variance_rounded(equal, 3).variance, 0.0f));
  const float extremes[] = {kMax, -kMax};
  EXPECT_TRUE(same_bits(mean_variance_rounded(extremes, 2).variance, kInf));
  EXPECT_TRUE(same_bits(sum_of_squares_rounded(extremes, 2), kInf));
  const float small[] = {0x1p-75f, 0x1p-75f};
  EXPECT_TRUE(same_bits(sum_of_squares_rounded(small, 2), 0x1p-149f));
  EXPECT_TRUE(same_bits(sum_of_squares_rounded(small, 1), 0.0f));
}

TEST(OrderedSum, IsTheWrittenOrder) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  std::vector<double> x(1000);
  for (double& v : x) v = normal(random) * std::ldexp(1.0, static_cast<int>(random() % 60));
  double total = 0;
  for (size_t i = 0; i < x.size(); i += 256) {
    double chunk = 0;
    for (size_t j = i; j < std::min(x.size(), i + 256); ++j) chunk += x[j];
    total += chunk;
  }
  EXPECT_EQ(bits_of(sum_ordered_f64(x.data(), 1000)), bits_of(total));
  const StridedSegmentF64 parts[] = {{x.data(), 100, 1}, {x.data() + 100, 700, 1}, {x.data() + 800, 200, 1}};
  EXPECT_EQ(bits_of(sum_ordered_f64(parts)), bits_of(total));
  EXPECT_EQ(bits_of(sum_ordered_f64(x.data(), 0)), bits_of(0.0));
  EXPECT_EQ(bits_of(sum_of_squares_ordered_f64(parts)), bits_of(sum_of_squares_ordered_f64(x.data(), 1000)));
}

TEST(ExactAccumulator, ProductsAgainstMpfr) {
  std::mt19937_64 random(7);
  mpfr_t sum, a, b;
  mpfr_inits2(1400, sum, a, b, static_cast<mpfr_ptr>(nullptr));
  for (int round = 0; round < 3000; ++round) {
    ExactAccumulator parts[3];
    mpfr_set_zero(sum, 1);
    for (uint64_t i = random() % 30; i > 0; --i) {
      const float x = any_finite(static_cast<uint32_t>(random())), y = any_finite(static_cast<uint32_t>(random()));
      parts[i % 3].add_product(x, y);
      mpfr_set_flt(a, x, MPFR_RNDN);
      mpfr_set_flt(b, y, MPFR_RNDN);
      mpfr_mul(a, a, b, MPFR_RNDN);
      mpfr_add(sum, sum, a, MPFR_RNDN);
    }
    ExactAccumulator merged;
    for (const ExactAccumulator& p : parts) merged.add(p);
    const float expected = mpfr_zero_p(sum) ? 0.0f : mpfr_get_flt(sum, MPFR_RNDN);
    ASSERT_TRUE(same_bits(merged.rounded(), expected));
    ASSERT_EQ(merged.sign(), mpfr_sgn(sum) > 0 ? 1 : mpfr_sgn(sum) < 0 ? -1 : 0);
    ASSERT_TRUE(ExactAccumulator::from_limbs(merged.limbs(), merged.special()) == merged);
    ExactAccumulator zero = merged;
    zero.subtract(merged);
    ASSERT_TRUE(zero.is_zero());
    ASSERT_TRUE(zero == ExactAccumulator());
  }
  mpfr_clears(sum, a, b, static_cast<mpfr_ptr>(nullptr));
}

TEST(ExactAccumulator, SpecialValues) {
  using Special = ExactAccumulator::Special;
  const auto product = [](float a, float b) {
    ExactAccumulator s;
    s.add_product(a, b);
    return s;
  };
  EXPECT_EQ(product(0, kInf).special(), Special::kNan);
  EXPECT_EQ(product(-2, kInf).special(), Special::kNegativeInfinity);
  EXPECT_EQ(product(nan_f32(), 1).special(), Special::kNan);
  EXPECT_TRUE(same_bits(product(-0x1p-149f, 0x1p-149f).rounded(), -0.0f));
  EXPECT_TRUE(same_bits(product(-0.0f, 1).rounded(), 0.0f));
  EXPECT_TRUE(same_bits(product(kMax, -kMax).rounded(), -kInf));
  ExactAccumulator s = product(1, kInf);
  s.add(3.0f);
  EXPECT_TRUE(same_bits(s.rounded(), kInf));
  s.add(-kInf);
  EXPECT_TRUE(same_bits(s.rounded(), nan_f32()));
  s.add(kInf);
  EXPECT_EQ(s.special(), Special::kNan);
}

}  // namespace
}  // namespace isobit::numerics
