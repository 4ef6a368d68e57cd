#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/table.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::rounding {
namespace {

using numerics::bits_of;

// MPFR's own rounding to bits - 8 significant bits, with the exponent range and subnormals of float32.
double rounded_by_mpfr(double x, int bits) {
  if (std::isnan(x)) return numerics::nan_f64();
  mpfr_set_emin(-148 + (32 - bits));
  mpfr_set_emax(128);
  mpfr_t r;
  mpfr_init2(r, bits - 8);
  mpfr_set_emin(-1100);
  mpfr_set_emax(1100);
  mpfr_t wide;
  mpfr_init2(wide, 53);
  mpfr_set_d(wide, x, MPFR_RNDN);
  mpfr_set_emin(-148 + (32 - bits));
  mpfr_set_emax(128);
  int inexact = mpfr_set(r, wide, MPFR_RNDN);
  inexact = mpfr_check_range(r, inexact, MPFR_RNDN);
  mpfr_subnormalize(r, inexact, MPFR_RNDN);
  const double rounded = mpfr_get_d(r, MPFR_RNDN);
  mpfr_set_emin(-1100);
  mpfr_set_emax(1100);
  mpfr_clears(r, wide, static_cast<mpfr_ptr>(nullptr));
  return rounded;
}

// Doubles near float32 values, near rounding boundaries of every width, and of any magnitude.
std::vector<double> values(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> v = {0.0,       -0.0,     0x1p-149,       0x1p-150,       0x1.8p-150,
                           -0x1p-160, 0x1p-126, 0x1.fffffep127, 0x1.ffffffp127, 0x1.fffffefffffffp127,
                           0x1p128,   -0x1p300, HUGE_VAL,       -HUGE_VAL,      std::nan("0x7"),
                           0x1p-1074};
  while (v.size() < n) {
    const uint64_t w = random();
    double x = static_cast<double>(numerics::f32_from_bits(static_cast<uint32_t>(w)));
    if (!std::isfinite(x)) continue;
    const double ulp = spacing(x, kMostBits);
    switch (w >> 62) {
      case 0:
        x += ulp * std::ldexp(1.0, static_cast<int>(w >> 40 & 15) - 8) * (w >> 61 & 1 ? 0.5 : 1.0);
        break;
      case 1:
        x += ulp / 2 * (1 + std::ldexp(w >> 61 & 1 ? 1.0 : -1.0, -static_cast<int>(w >> 40 & 31)));
        break;
      case 2:
        x += ulp * (static_cast<double>(w >> 40 & 0xffff) / 65536 - 0.5);
        break;
      default:
        x = numerics::f64_from_bits(random());
    }
    v.push_back(x);
  }
  return v;
}

TEST(RoundToBits, IsMpfrs) {
  for (int bits = kLeastBits; bits <= kMostBits; ++bits) {
    for (double x : values(20000, static_cast<uint64_t>(bits))) {
      ASSERT_EQ(bits_of(rounded_by_mpfr(x, bits)), bits_of(round_to_bits(x, bits))) << bits << " bits of " << x;
    }
  }
}

TEST(RoundToBits, KeepsWhatItMade) {
  for (int bits = kLeastBits; bits <= kMostBits; ++bits) {
    for (double x : values(2000, 7)) {
      const double r = round_to_bits(x, bits);
      ASSERT_EQ(bits_of(r), bits_of(round_to_bits(r, bits)));
      if (!std::isfinite(r)) continue;
      ASSERT_EQ(r, static_cast<double>(static_cast<float>(r)));
      ASSERT_EQ(bits_of(static_cast<float>(r)) & ((uint32_t{1} << (32 - bits)) - 1), 0u);
      ASSERT_LE(std::fabs(x - r), spacing(x, bits) / 2);
    }
  }
}

TEST(RoundingLoops, AllInstructionSetsRoundAlike) {
  for (Isa isa : available_isas()) {
    const Table& loops = table_of(isa);
    for (int bits : {22, 26, 31, 32}) {
      std::vector<double> x = values(4099, 3), expected = x;
      for (double& v : expected) v = round_to_bits(v, bits);
      Extent extent;
      std::vector<double> alone = x;
      loops.round(static_cast<int64_t>(x.size()), x.data(), bits, &extent);
      loops.round(static_cast<int64_t>(x.size()), alone.data(), bits, nullptr);
      EXPECT_TRUE(testing::same_bits(x, alone));
      EXPECT_TRUE(testing::same_bits(expected, x)) << name_of(isa) << ", " << bits << " bits";
    }
  }
}

double magnitude_or_infinity(double x) {
  return std::isnan(x) ? std::numeric_limits<double>::infinity() : std::fabs(x);
}

TEST(RoundingLoops, ASieveLeavesWhatItsEndsRoundApart) {
  const std::vector<double> from = values(1003, 11);
  const size_t n = from.size();
  std::vector<double> norms = testing::random_values<double>(n, testing::Values::kUnit, 5);
  for (double& norm : norms) norm = std::fabs(norm);
  norms[8] = norms[n - 1] = std::numeric_limits<double>::infinity();
  for (Isa isa : available_isas()) {
    for (int bits : {24, 32}) {
      for (const Interval& interval :
           {Interval{0.0}, Interval{0x1p-26}, Interval{0x1p-10}, Interval{0.0, 0x1p-26, norms.data()},
            Interval{0x1p-26, 0x1p-10, norms.data()}}) {
        std::vector<double> x = from;
        std::vector<int32_t> undecided(n), also_undecided(n);
        std::vector<double> without_extent = from;
        also_undecided.resize(static_cast<size_t>(table_of(isa).sieve(
            static_cast<int64_t>(n), interval, bits, without_extent.data(), also_undecided.data(), nullptr)));
        double expected_peak = 0, lower = 0;
        Extent extent;
        undecided.resize(static_cast<size_t>(
            table_of(isa).sieve(static_cast<int64_t>(n), interval, bits, x.data(), undecided.data(), &extent)));
        std::vector<int32_t> expected;
        for (size_t j = 0; j < n; ++j) {
          const double width = interval.width + (interval.norms != nullptr ? interval.scale * norms[j] : 0.0);
          const double low = round_to_bits(from[j] - width, bits) + 0.0;
          const double high = round_to_bits(from[j] + width, bits) + 0.0;
          const bool apart = std::isfinite(from[j]) && bits_of(low) != bits_of(high);
          if (apart) expected.push_back(static_cast<int32_t>(j));
          for (double end : {low, high}) expected_peak = std::max(expected_peak, magnitude_or_infinity(end));
          const double decided = std::isfinite(from[j]) ? low : round_to_bits(from[j], bits);
          lower += low * low;
          ASSERT_EQ(bits_of(apart ? from[j] : decided), bits_of(x[j])) << from[j];
        }
        ASSERT_EQ(undecided, expected);
        ASSERT_EQ(also_undecided, expected);
        ASSERT_TRUE(testing::same_bits(x, without_extent));
        ASSERT_EQ(extent.peak, expected_peak);
        ASSERT_FALSE(extent.squares < lower * (1 - 0x1p-40));
      }
    }
  }
}

TEST(RoundingLoops, ExtentsAreOfAllValues) {
  for (Isa isa : available_isas()) {
    const Table& loops = table_of(isa);
    Extent none;
    loops.measure(0, nullptr, &none);
    EXPECT_EQ(none.peak, 0.0);
    EXPECT_EQ(none.squares, 0.0);
    const std::vector<double> x = testing::random_values<double>(83, testing::Values::kUnit, 37);
    for (size_t at : {size_t{3}, x.size() - 1}) {
      for (double v :
           {-25.0, 70.0, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        std::vector<double> y = x;
        y[at] = v;
        double squares = 0;
        for (double z : y) squares += z * z;
        const auto n = static_cast<int64_t>(y.size());
        Extent measured, rounded;
        loops.measure(n, y.data(), &measured);
        loops.round(n, y.data(), 32, &rounded);
        for (const Extent& extent : {measured, rounded}) {
          EXPECT_EQ(extent.peak, magnitude_or_infinity(v));
          if (std::isfinite(v)) {
            EXPECT_NEAR(extent.squares, squares, 1e-6 * squares);
          }
        }
      }
    }
  }
}

TEST(RoundingLoops, DecisionsFollowThePublishedRule) {
  for (Isa isa : available_isas()) {
    for (int bits : {27, 32}) {
      std::vector<double> x = values(2000, 13);
      const std::vector<double> from = x;
      std::vector<uint8_t> decisions(x.size());
      table_of(isa).classify(static_cast<int64_t>(x.size()), 0.25, bits, x.data(), decisions.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const double r = round_to_bits(from[i], bits);
        ASSERT_EQ(bits_of(r), bits_of(x[i]));
        const bool far = std::fabs(from[i] - r) > 0.25 * spacing(from[i], bits);
        ASSERT_EQ(int{decisions[i]}, !far ? 1 : from[i] < r ? 2 : 0) << from[i];
      }
    }
  }
}

TEST(RoundingLoops, ComparingFindsTheDecisionsAgainstOnesOwn) {
  for (Isa isa : available_isas()) {
    for (int bits : {27, 32}) {
      std::vector<double> x = values(2005, 23);
      const std::vector<double> from = x;
      std::vector<uint8_t> decisions(x.size()), against(x.size());
      for (size_t i = 0; i < x.size(); ++i) decisions[i] = static_cast<uint8_t>(i % 3);
      EXPECT_TRUE(
          table_of(isa).compare(static_cast<int64_t>(x.size()), decisions.data(), bits, x.data(), against.data()));
      for (size_t i = 0; i < x.size(); ++i) {
        const double r = round_to_bits(from[i], bits);
        ASSERT_EQ(bits_of(r), bits_of(x[i]));
        ASSERT_EQ(against[i] != 0, (i % 3 == 0 && from[i] < r) || (i % 3 == 2 && from[i] > r)) << from[i];
      }
      std::vector<uint8_t> none(5, 1);
      EXPECT_FALSE(table_of(isa).compare(5, none.data(), bits, x.data(), against.data()));
    }
  }
}

TEST(RoundingLoops, SumsOfSquaresHaveOneOrder) {
  for (int64_t n : {0, 1, 7, 8, 9, 64, 1000, 1003}) {
    const std::vector<double> x = testing::random_values<double>(static_cast<size_t>(n), testing::Values::kUnit, 17);
    double lanes[8] = {}, sum = 0;
    const int64_t whole = n - n % 8;
    for (int64_t i = 0; i < whole; ++i) lanes[i % 8] += x[static_cast<size_t>(i)] * x[static_cast<size_t>(i)];
    for (int64_t i = whole; i < n; ++i) sum += x[static_cast<size_t>(i)] * x[static_cast<size_t>(i)];
    for (double lane : lanes) sum += lane;
    for (Isa isa : available_isas()) EXPECT_EQ(bits_of(sum), bits_of(table_of(isa).squares(n, x.data())));
  }
  for (int64_t n : {0, 1, 7, 8, 9, 1003}) {
    const auto a = testing::random_values<double>(static_cast<size_t>(n), testing::Values::kUnit, 29);
    const auto b = testing::random_values<double>(static_cast<size_t>(n), testing::Values::kUnit, 31);
    double lanes[8] = {}, sum = 0;
    for (size_t l = 0; l < a.size(); ++l) lanes[l % 8] += std::fabs(a[l] * b[l]);
    for (double lane : lanes) sum += lane;
    for (Isa isa : available_isas()) EXPECT_EQ(bits_of(sum), bits_of(table_of(isa).magnitudes(n, a.data(), b.data())));
  }
  const std::vector<double> x = testing::random_values<double>(60 * 37, testing::Values::kUnit, 19);
  std::vector<double> expected(37, 0.5);
  for (size_t l = 0; l < 60; ++l) {
    for (size_t j = 0; j < 37; ++j) expected[j] += x[l * 37 + j] * x[l * 37 + j];
  }
  for (Isa isa : available_isas()) {
    std::vector<double> sums(37, 0.5);
    table_of(isa).column_squares(60, 37, x.data(), 37, sums.data());
    EXPECT_TRUE(testing::same_bits(expected, sums));
  }
}

}  // namespace
}  // namespace isobit::kernels::rounding
