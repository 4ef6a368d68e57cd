// pow and fmod: against MPFR, the C library's special values and its fmod, which is exact.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "isobit/base/whole_for_test.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"
#include "isobit/numerics/functions_oracle.h"

namespace isobit::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void exact_pow(mpfr_t out, double x, double y) {
  oracle::Real exponent;
  mpfr_set_d(out, x, MPFR_RNDN);
  mpfr_set_d(exponent.v, y, MPFR_RNDN);
  mpfr_pow(out, out, exponent.v, MPFR_RNDN);
}

// Correctly rounded: 256 bits hold every power that is exact in at most 25, and the others as far as it matters.
float expected_pow(float x, float y) {
  oracle::Real r;
  exact_pow(r.v, static_cast<double>(x), static_cast<double>(y));
  return canonical(mpfr_get_flt(r.v, MPFR_RNDN));
}

void check_pow(float x, float y) {
  const float found = cr_pow(x, y), expected = expected_pow(x, y);
  EXPECT_EQ(bits_of(found), bits_of(expected)) << std::hexfloat << x << " to the " << y;
}

float uniform(std::mt19937_64& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random() >> 40) * 0x1p-24f;
}

TEST(Pow, RandomBitsAreCorrectlyRounded) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    check_pow(f32_from_bits(static_cast<uint32_t>(random())), f32_from_bits(static_cast<uint32_t>(random())));
  }
}

TEST(Pow, UsualArgumentsAreCorrectlyRounded) {
  std::mt19937_64 random(2);
  for (int i = 0; i < (whole_test() ? 100000 : 20000); ++i) {
    check_pow(uniform(random, 0, 8), uniform(random, -8, 8));
    check_pow(uniform(random, 0.99f, 1.01f), uniform(random, -9000, 9000));
    check_pow(f32_from_bits(static_cast<uint32_t>(random()) & 0x7fffffffu), uniform(random, -2, 2));
  }
}

TEST(Pow, SmallWholeAndEighthPowersAreCorrectlyRounded) {
  std::mt19937_64 random(3);
  for (int i = 0; i < (whole_test() ? 1000 : 200); ++i) {
    for (int eighths = -64; eighths <= 136; ++eighths) {
      const float x = i % 2 ? uniform(random, 0, 4) : std::floor(uniform(random, 0, 4000));
      check_pow(eighths % 8 ? x : -x, static_cast<float>(eighths) / 8);
    }
  }
}

// m^p with m odd and 24 or 25 bits: the powers that are exact or halfway between two float32 numbers, at every scale
// where subnormal numbers make others of them halfway.
TEST(Pow, ExactPowersAndMidpointsAreRoundedToEven) {
  for (int m = 1; m < 5800; m += 2) {
    double power = 1;
    for (int p = 1; p <= 15; ++p) {
      power *= m;
      if (power >= 0x1p25) break;
      for (int roots = 0; roots <= 3; ++roots) {
        double x = m;
        for (int i = 0; i < roots; ++i) x *= x;
        if (x >= 0x1p24) break;
        const float y = std::ldexp(static_cast<float>(p), -roots);
        check_pow(static_cast<float>(x), y);
        if (m < 60) {
          for (int e = -149; e < 104; ++e) check_pow(static_cast<float>(std::ldexp(x, e)), y);
        }
      }
    }
  }
}

TEST(Pow, PowersOfTwoAreExactDownToTheTieBelowTheSmallest) {
  for (int e = -149; e <= 127; ++e) {
    for (const float y :
         {-3.0f, -2.0f, -1.0f, -0.5f, 0.25f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 5.0f, 30.0f, 75.0f, 149.0f, 150.0f}) {
      check_pow(std::ldexp(1.0f, e), y);
      check_pow(std::ldexp(-1.0f, e), y);
    }
  }
  EXPECT_EQ(bits_of(cr_pow(0.5f, 150.0f)), bits_of(0.0f));
  EXPECT_EQ(bits_of(cr_pow(-0.125f, 51.0f)), bits_of(-0.0f));
  EXPECT_EQ(cr_pow(0.5f, 149.0f), 0x1p-149f);
}

TEST(Pow, BoundariesOfTheRangeAreCorrectlyRounded) {
  for (int d = -40; d <= 40; ++d) {
    for (const float x : {0.7f, 1.9f, 2.0f, 3.0f, 10.0f, 1e-30f, 1e30f, 1.0000001f, 0.99999994f}) {
      for (const double edge : {128.0, -149.0, -150.0, -126.0, 0.0, 1e-7}) {
        const float y = static_cast<float>(edge / std::log2(static_cast<double>(x)));
        check_pow(x, f32_from_bits(bits_of(y) + static_cast<uint32_t>(d)));
      }
    }
  }
}

TEST(Pow, SpecialValuesAreThoseOfC) {
  const std::vector<float> values = {
      0.0f,   -0.0f,      1.0f,        -1.0f,       2.0f,         -2.0f,       0.5f,       -0.5f,      3.0f,
      -3.0f,  1.5f,       -1.5f,       kInf,        -kInf,        kNan,        0x1p-149f,  -0x1p-149f, 1e38f,
      -1e38f, 8388607.0f, -8388609.0f, 16777215.0f, -16777215.0f, 16777216.0f, 8388607.5f, -4194303.5f};
  for (const float x : values) {
    for (const float y : values) {
      const double wide = canonical(std::pow(static_cast<double>(x), static_cast<double>(y)));
      const float narrow = canonical(static_cast<float>(wide));
      EXPECT_EQ(bits_of(cr_pow(x, y)), bits_of(narrow)) << x << " to the " << y;
      const double found = f64_pow(static_cast<double>(x), static_cast<double>(y));
      EXPECT_LE(ulp_distance(found, wide), 1u) << x << " to the " << y;
      EXPECT_EQ(std::signbit(found), std::signbit(wide)) << x << " to the " << y;
      EXPECT_EQ(is_finite(found), is_finite(wide)) << x << " to the " << y;
    }
  }
}

TEST(Pow, Float64IsBelowOneUlp) {
  std::mt19937_64 random(5);
  double worst = 0;
  const auto check = [&](double x, double y) {
    oracle::Real r;
    exact_pow(r.v, x, y);
    const double found = f64_pow(x, y), nearest = mpfr_get_d(r.v, MPFR_RNDN);
    if (!is_finite(nearest) || std::fabs(nearest) < 0x1p-1022) {
      EXPECT_LE(ulp_distance(found, nearest), 1u) << std::hexfloat << x << " to the " << y;
      return;
    }
    oracle::Real d;
    mpfr_sub_d(d.v, r.v, found, MPFR_RNDN);
    const double ulp = next_up(std::fabs(nearest)) - std::fabs(nearest);
    worst = std::fmax(worst, std::fabs(mpfr_get_d(d.v, MPFR_RNDN)) / ulp);
  };
  for (int i = 0; i < 20000; ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53, v = static_cast<double>(random() >> 11) * 0x1p-53;
    check(10 * u, 40 * (v - 0.5));
    check(1 + (u - 0.5) * 1e-3, 1e6 * (v - 0.5));
    check(std::ldexp(1 + u, static_cast<int>(random() % 2000) - 1000), 2 * (v - 0.5));
    check(std::ldexp(u, -1030), 1.05 * v);
    check(-10 * u, static_cast<double>(random() % 600) - 300);
  }
  std::printf("pow: largest error %.4f ulp\n", worst);
  EXPECT_LT(worst, 0.51);
}

template <class T>
void check_fmod(T x, T y) {
  EXPECT_EQ(bits_of(exact_fmod(x, y)), bits_of(canonical(std::fmod(x, y)))) << std::hexfloat << x << " mod " << y;
}

TEST(Fmod, RandomBitsAreExact) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 100000; ++i) {
    check_fmod(f32_from_bits(static_cast<uint32_t>(random())), f32_from_bits(static_cast<uint32_t>(random())));
    check_fmod(f64_from_bits(random()), f64_from_bits(random()));
    // near each other, and subnormal
    const uint64_t b = random();
    check_fmod(f64_from_bits(b), f64_from_bits(b - (random() >> 9)));
    check_fmod(f64_from_bits(random() >> 9), f64_from_bits(random() >> (12 + random() % 52)));
    const uint32_t c = static_cast<uint32_t>(random());
    check_fmod(f32_from_bits(c), f32_from_bits(c - (static_cast<uint32_t>(random()) >> 6)));
    check_fmod(f32_from_bits(c >> 6), f32_from_bits(static_cast<uint32_t>(random()) >> 10));
  }
}

TEST(Fmod, SpecialValuesAreThoseOfC) {
  const std::vector<double> values = {0.0, -0.0, 1.0,      -1.0,      3.0,          -3.0,
                                      0.5, 5.5,  HUGE_VAL, -HUGE_VAL, std::nan(""), 1e30};
  for (const double x : values) {
    for (const double y : values) {
      check_fmod(x, y);
      check_fmod(static_cast<float>(x), static_cast<float>(y));
    }
  }
  check_fmod(0x1.fffffffffffffp1023, 0x1p-1074);
  check_fmod(0x1.fffffffffffffp1023, 0x1.8p-1073);
  check_fmod(-0x1.fffffep127f, 0x1.8p-148f);
}

}  // namespace
}  // namespace isobit::numerics
