// Exact evaluation of single outputs, against MPFR.
#include "isobit/kernels/rounding/exact_value.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "isobit/kernels/rounding/one_sum_for_test.h"
#include "isobit/kernels/rounding/places.h"

namespace isobit::kernels::rounding {
namespace {

using numerics::bits_of;
using testing::OneSum;
using Terms = std::vector<std::pair<double, double>>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class MpfrSum {
 public:
  explicit MpfrSum(const OneSum& s) {
    mpfr_inits2(800, sum_, term_, static_cast<mpfr_ptr>(nullptr));
    mpfr_set_d(sum_, s.bias, MPFR_RNDN);
    for (size_t l = 0; l < s.left.size(); ++l) {
      mpfr_set_d(term_, s.left[l], MPFR_RNDN);
      mpfr_mul_d(term_, term_, s.right[l], MPFR_RNDN);
      mpfr_add(sum_, sum_, term_, MPFR_RNDN);
    }
  }
  ~MpfrSum() { mpfr_clears(sum_, term_, static_cast<mpfr_ptr>(nullptr)); }
  MpfrSum(const MpfrSum&) = delete;
  MpfrSum& operator=(const MpfrSum&) = delete;

  // |z - sum|.
  double distance(const ExactValue& z) {
    mpfr_sub_d(term_, sum_, z.high, MPFR_RNDN);
    mpfr_sub_d(term_, term_, z.low, MPFR_RNDN);
    return std::fabs(mpfr_get_d(term_, MPFR_RNDA));
  }
  double rounded(int bits) {
    if (mpfr_zero_p(sum_)) return 0;
    // In units of the last place that a value of so many bits has.
    const long unit = std::max<long>(mpfr_get_exp(sum_) - (bits - 8), -149 + 32 - bits);
    mpfr_mul_2si(term_, sum_, -unit, MPFR_RNDN);
    mpfr_rint_roundeven(term_, term_, MPFR_RNDN);
    mpfr_mul_2si(term_, term_, unit, MPFR_RNDN);
    const double value = mpfr_get_d(term_, MPFR_RNDN) + 0.0;
    return std::fabs(value) < 0x1p128 ? value : std::copysign(kInfinity, value);
  }

 private:
  mpfr_t sum_, term_;
};

void expect_exact(const Terms& terms, double bias) {
  OneSum s(terms, bias);
  MpfrSum oracle(s);
  for (int bits : {22, 25, 31, 32}) {
    const ExactOutput o = s.exact(bits);
    const double roundings = static_cast<double>(terms.size() + 16) * kUnit;
    ASSERT_LE(oracle.distance(o.z), roundings * roundings * o.at.magnitude);
    ASSERT_EQ(o.z.high + o.z.low, o.z.high);
    ASSERT_EQ(bits_of(o.rounded), bits_of(oracle.rounded(bits)))
        << bits << " bits: " << o.rounded << ", expected " << oracle.rounded(bits);
  }
}

// Two factors whose product is 2^exponent.
std::pair<double, double> power(int exponent, double sign) {
  const int half = exponent / 2;
  return {sign * std::ldexp(1.0, half), std::ldexp(1.0, exponent - half)};
}

TEST(ExactValue, OfRandomSums) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 2000; ++trial) {
    Terms terms(random() % 60);
    const int spread = static_cast<int>(random() % 60);
    for (auto& [a, b] : terms) {
      a = round_to_bits(std::ldexp(normal(random), static_cast<int>(random() % (spread + 1)) - spread / 2), 32);
      b = round_to_bits(normal(random), 32);
    }
    // Some sums are what cancellation leaves.
    const size_t whole = terms.size();
    for (size_t l = 0; trial % 2 == 0 && l < whole; ++l) {
      terms.emplace_back(-terms[l].first, std::nextafterf(static_cast<float>(terms[l].second), 0));
    }
    std::shuffle(terms.begin(), terms.end(), random);
    expect_exact(terms, trial % 3 == 0 ? round_to_bits(normal(random), 32) : 0.0);
  }
}

// Values that are a boundary, or next to one by 2^-j of a spacing, among terms that cancel.
TEST(ExactValue, NextToBoundaries) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 6000; ++trial) {
    const int bits = trial % 2 == 0 ? 32 : 22 + static_cast<int>(random() % 10);
    const int exponent = trial % 5 == 0   ? 127
                         : trial % 5 == 1 ? -140 + static_cast<int>(random() % 20)
                                          : static_cast<int>(random() % 60) - 30;
    const uint64_t w = random();
    const double share = w % 3 == 0 ? 1.0 : w % 3 == 1 ? 2 - 0x1p-23 : 1 + static_cast<double>(w >> 12) * 0x1p-52;
    const double value = round_to_bits(std::ldexp(share, exponent), bits);
    if (!std::isfinite(value)) continue;
    const int half = std::ilogb(spacing(value, bits)) - 1;
    const double sign = random() % 2 == 0 ? 1 : -1, nudge = static_cast<double>(static_cast<int>(random() % 3) - 1);
    Terms terms = {{sign * value, 1.0}, power(half, sign)};
    const int below = half - 1 - static_cast<int>(random() % 100);
    if (nudge != 0 && below >= -298) terms.push_back(power(below, nudge));
    for (uint64_t pair = random() % 4; pair > 0; --pair) {
      const double huge =
          round_to_bits(std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 40) - 60), 32);
      terms.emplace_back(huge, 3.0);
      terms.emplace_back(-3.0, huge);
    }
    std::shuffle(terms.begin(), terms.end(), random);
    expect_exact(terms, 0);
  }
}

TEST(ExactValue, OfExtremes) {
  constexpr double kMost = 0x1.fffffep127, kLeast = 0x1p-149;
  for (double sign : {1.0, -1.0}) {
    expect_exact({}, 0);
    expect_exact({{0, 5}}, 0);
    expect_exact({{sign * kLeast, kLeast}}, 0);
    expect_exact({{sign * kLeast, 0.5}}, 0);                           // a tie, to zero
    expect_exact({{sign * kLeast, 0.5}, {sign * kLeast, kLeast}}, 0);  // and by the least there is above it
    expect_exact({{sign * kLeast, 1.5}}, 0);                           // a tie, to two
    expect_exact({{sign * kMost, kMost}, {kMost, -sign * kMost}}, sign * kLeast);
    expect_exact({{sign * kMost, kMost}}, 0);
    expect_exact(Terms(100, {sign * kMost, kMost}), 0);
    expect_exact({{sign * kMost, 1}, {sign * 0x1p102, 2}}, 0);                       // half way to 2^128
    expect_exact({{sign * kMost, 1}, {sign * 0x1p102, 2}, {-sign * kLeast, 1}}, 0);  // and just below
  }
  OneSum zero({{-1.0, 0x1p-100}, {1.0, 0x1p-100}});
  EXPECT_EQ(bits_of(zero.exact(32).rounded), 0u);
}

TEST(ExactValue, OfInfinitiesAndNan) {
  for (double special : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    OneSum s({{1.0, 2.0}, {special, 3.0}, {4.0, 5.0}});
    EXPECT_EQ(bits_of(s.exact(32).rounded), bits_of(numerics::canonical(special)));
    EXPECT_EQ(s.exact(32, special).error(), 0);
    EXPECT_EQ(s.exact(32, 1.0).error(), kInfinity);
  }
  EXPECT_TRUE(std::isnan(OneSum({{0.0, kInfinity}}).exact(32).rounded));
  EXPECT_TRUE(std::isnan(OneSum({{1.0, kInfinity}, {-1.0, kInfinity}}).exact(32).rounded));
  EXPECT_EQ(OneSum({{1.0, 1.0}}).exact(32, kInfinity).error(), kInfinity);
  EXPECT_EQ(OneSum({{1.0, 1.0}}).exact(32, std::numeric_limits<double>::quiet_NaN()).error(), kInfinity);
}

TEST(ExactValue, ErrorsAreInUnitsOfTheMagnitude) {
  OneSum s({{3.0, 1.0}, {-2.0, 1.0}});
  EXPECT_EQ(s.exact(32, 1.0).error(), 0);
  EXPECT_EQ(s.exact(32, 1.0 + 10 * kUnit).error(), 2);
  EXPECT_EQ(s.exact(32, 1.0 - 10 * kUnit).error(), 2);
  // Without a nonzero term there is nothing to be off by.
  EXPECT_EQ(OneSum({{0.0, 1.0}}).exact(32, 0.0).error(), 0);
  EXPECT_EQ(OneSum({{0.0, 1.0}}).exact(32, 1e-300).error(), kInfinity);
}

TEST(ExactValue, SumsThatNoOrderRounds) {
  const auto exact = [](const Terms& terms, double bias = 0) {
    OneSum s(terms, bias);
    return adds_exactly(s.block, 0, 0, s.exact(32).at.magnitude);
  };
  EXPECT_TRUE(exact({}));
  EXPECT_TRUE(exact({{0.0, 1.0}}));
  EXPECT_TRUE(exact({{1.0, 1.0}, {0x1p-52, 1.0}}));
  EXPECT_FALSE(exact({{1.0, 1.0}, {1.0, 1.0}, {0x1p-52, 1.0}}));
  EXPECT_FALSE(exact({{1.0, 1.0}}, 0x1p-53));
  EXPECT_TRUE(exact({{1.0, 1.0}, {0.0, 0x1p-100}}));
}

TEST(ExactValue, RoundingAnUnevaluatedSumRoundsOnce) {
  // Half way between two values of 32 bits, but for what the low part says.
  const double middle = 1 + 0x1p-24;
  EXPECT_EQ(round_sum(middle, 0, 32), 1.0);
  EXPECT_EQ(round_sum(middle, 0x1p-80, 32), 1 + 0x1p-23);
  EXPECT_EQ(round_sum(middle, -0x1p-80, 32), 1.0);
  EXPECT_EQ(round_sum(-middle, -0x1p-80, 32), -1 - 0x1p-23);
  EXPECT_EQ(round_sum(-middle, 0x1p-80, 32), -1.0);
  EXPECT_EQ(round_sum(1 + 3 * 0x1p-24, -0x1p-80, 32), 1 + 0x1p-23);
  EXPECT_EQ(round_sum(1 + 3 * 0x1p-24, 0, 32), 1 + 0x1p-22);
}

}  // namespace
}  // namespace isobit::kernels::rounding
