#include "isobit/numerics/functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "isobit/base/whole_for_test.h"
#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_oracle.h"

namespace isobit::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
using F32 = float (*)(float);
// In the order of oracle::kFunctions.
constexpr F32 kOurs[] = {cr_exp,     cr_log,      cr_tanh,      cr_erf,   cr_sin,   cr_cos,   cr_sqrt,     cr_rsqrt,
                         cr_sigmoid, cr_gelu_erf, cr_gelu_tanh, cr_expm1, cr_log1p, cr_tan,   cr_asin,     cr_acos,
                         cr_atan,    cr_sinh,     cr_cosh,      cr_asinh, cr_acosh, cr_atanh, cr_softplus, cr_mish};
static_assert(std::size(kOurs) == std::size(oracle::kFunctions));

class Functions : public testing::TestWithParam<int> {
 protected:
  const oracle::Function& function() { return oracle::kFunctions[GetParam()]; }
  void check(float x) {
    const float found = kOurs[GetParam()](x);
    const float expected = oracle::correctly_rounded(function(), x, &near_ties_);
    if (bits_of(found) != bits_of(expected) && ++failures_ < 20) {
      ADD_FAILURE() << function().name << std::hex << "(0x" << bits_of(x) << "): found 0x" << bits_of(found)
                    << ", expected 0x" << bits_of(expected);
    }
  }
  uint64_t near_ties_ = 0;
  int failures_ = 0;
};

TEST_P(Functions, RandomBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < (whole_test() ? 1000000 : 300000); ++i) check(f32_from_bits(static_cast<uint32_t>(random())));
  EXPECT_EQ(failures_, 0);
}

TEST_P(Functions, UsualArguments) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(0, 3);
  for (int i = 0; i < (whole_test() ? 300000 : 100000); ++i) check(normal(random));
  EXPECT_EQ(failures_, 0);
}

// The neighbourhood of every power of two, of the places where the implementations change their formula or saturate,
// and of multiples of pi/2 and of every exceptional input; all subnormal powers and the ends of the range.
TEST_P(Functions, Boundaries) {
  std::vector<float> centres = {0.0f,
                                1.25f,
                                14.5f,
                                4.0f,
                                10.0f,
                                11.0f,
                                9.010914f,
                                3.9192059f,
                                88.72284f,
                                89.0f,
                                104.0f,
                                110.0f,
                                103.9721f,
                                87.33655f,
                                17.32868f,
                                0.34657359f,
                                0.70710678f,
                                0x1.827a74p-7f,
                                0x1.2f1fd6p+3f,
                                0x1.bacb4ap+25f,
                                0x1.b121a6p+76f,
                                0x1.6351d8p+95f,
                                0x1.d483ap-12f,
                                0x1.4p-24f,
                                0x1.250c02p-10f,
                                0x1.6148dep-16f,
                                0x1.33333p+13f,
                                0x1.3170fp+63f,
                                0x1.2b9622p+67f,
                                14.0f,
                                13.2f,
                                5.5f,
                                10.5f,
                                32768.0f,
                                kInf,
                                0x1.62e43p-1f,
                                1.4142135f};
  for (int e = -149; e < 128; ++e) centres.push_back(std::ldexp(1.0f, e));
  for (int k = 1; k < 3000; ++k) centres.push_back(static_cast<float>(k * 1.5707963267948966));
  for (const float c : centres) {
    for (int d = -20; d <= 20; ++d) {
      const uint32_t b = bits_of(c) + static_cast<uint32_t>(d);
      check(f32_from_bits(b & 0x7fffffffu));
      check(f32_from_bits(b | 0x80000000u));
    }
  }
  EXPECT_EQ(failures_, 0);
}

TEST_P(Functions, EveryNanIsTheOneNan) {
  for (const uint32_t b : {0x7f800001u, 0x7fc00000u, 0x7fc12345u, 0x7fffffffu, 0xff800001u, 0xffc00000u, 0xffffffffu}) {
    EXPECT_EQ(bits_of(kOurs[GetParam()](f32_from_bits(b))), 0x7fc00000u);
  }
}

// The first oracle is itself checked: MPFR alone on a smaller sample.
TEST_P(Functions, MpfrAlone) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    const float x = f32_from_bits(static_cast<uint32_t>(random()) & 0xc3ffffffu);
    if (!is_finite(x) || x == 0) continue;
    const float expected = oracle::exact_f32(function().exact, x);
    EXPECT_EQ(bits_of(kOurs[GetParam()](x)), bits_of(expected)) << function().name << " " << x;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::Range(0, static_cast<int>(std::size(kOurs))),
                         [](const testing::TestParamInfo<int>& i) {
                           return std::string(oracle::kFunctions[i.param].name);
                         });

TEST(FunctionValues, Special) {
  EXPECT_EQ(bits_of(cr_exp(-kInf)), bits_of(0.0f));
  EXPECT_EQ(cr_exp(kInf), kInf);
  EXPECT_EQ(cr_exp(-0.0f), 1.0f);
  EXPECT_EQ(cr_log(0.0f), -kInf);
  EXPECT_EQ(cr_log(-0.0f), -kInf);
  EXPECT_EQ(bits_of(cr_log(-1.0f)), kNanBitsF32);
  EXPECT_EQ(bits_of(cr_log(-kInf)), kNanBitsF32);
  EXPECT_EQ(cr_log(kInf), kInf);
  EXPECT_EQ(bits_of(cr_log(1.0f)), bits_of(0.0f));
  EXPECT_EQ(cr_tanh(-kInf), -1.0f);
  EXPECT_EQ(bits_of(cr_tanh(-0.0f)), bits_of(-0.0f));
  EXPECT_EQ(cr_erf(kInf), 1.0f);
  EXPECT_EQ(bits_of(cr_sin(-0.0f)), bits_of(-0.0f));
  EXPECT_EQ(bits_of(cr_sin(kInf)), kNanBitsF32);
  EXPECT_EQ(bits_of(cr_cos(-kInf)), kNanBitsF32);
  EXPECT_EQ(bits_of(cr_sqrt(-0.0f)), bits_of(-0.0f));
  EXPECT_EQ(bits_of(cr_sqrt(-1.0f)), kNanBitsF32);
  EXPECT_EQ(cr_rsqrt(-0.0f), -kInf);
  EXPECT_EQ(cr_rsqrt(0.0f), kInf);
  EXPECT_EQ(bits_of(cr_rsqrt(kInf)), bits_of(0.0f));
  EXPECT_EQ(bits_of(cr_rsqrt(-kInf)), kNanBitsF32);
  EXPECT_EQ(bits_of(cr_sigmoid(-kInf)), bits_of(0.0f));
  EXPECT_EQ(cr_sigmoid(kInf), 1.0f);
  EXPECT_EQ(bits_of(cr_gelu_erf(-kInf)), bits_of(-0.0f));
  EXPECT_EQ(cr_gelu_erf(kInf), kInf);
  EXPECT_EQ(bits_of(cr_gelu_tanh(-kInf)), bits_of(-0.0f));
  EXPECT_EQ(bits_of(cr_gelu_tanh(-0.0f)), bits_of(-0.0f));
}

// What the near value promises, with a margin of 2 for the machine's fma or its absence.
TEST(FunctionValues, NearGeluIsWithinItsError) {
  double worst = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1021) {
    const float x = f32_from_bits(static_cast<uint32_t>(bits));
    if (!(std::abs(x) <= 14.5f) || x == 0) continue;
    const double exact = f64_gelu_erf(static_cast<double>(x));
    worst = std::max(worst, std::abs((impl::gelu_erf_near(x) - exact) / exact));
  }
  EXPECT_LT(worst, impl::kGeluNearError / 2);
  EXPECT_GT(worst, impl::kGeluNearError / 64);
}

// As the gradient of GELU takes them: of one float, each rounded in its own way.
TEST(FunctionValues, NearErfAndExpAreWithinTheirErrors) {
  double worst_erf = 0, worst_exp = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1021) {
    const float c = f32_from_bits(static_cast<uint32_t>(bits));
    if (!(std::abs(c) <= 40.0f)) continue;
    const float z = 0.70710678118654752440f * c, w = -0.5f * (c * c);
    const impl::ErfAndExp near = impl::erf_and_exp_near(z, w);
    worst_erf = std::max(worst_erf, std::abs(near.erf - f64_erf(static_cast<double>(z))));
    const double exact = f64_exp(static_cast<double>(w)), error = std::abs(near.exp - exact);
    if (error > 0x1p-151) worst_exp = std::max(worst_exp, error / exact);
  }
  EXPECT_LT(worst_erf, impl::kErfNearError / 2);
  EXPECT_GT(worst_erf, impl::kErfNearError / 64);
  EXPECT_LT(worst_exp, impl::kExpNearError / 2);
  EXPECT_GT(worst_exp, impl::kExpNearError / 64);
}

TEST(FunctionValues, SpecialInFloat64) {
  EXPECT_EQ(bits_of(f64_exp(-HUGE_VAL)), bits_of(0.0));
  EXPECT_EQ(f64_exp(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(f64_log(0.0), -HUGE_VAL);
  EXPECT_EQ(f64_log(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(bits_of(f64_log(-1.0)), kNanBitsF64);
  EXPECT_EQ(f64_expm1(-HUGE_VAL), -1.0);
  EXPECT_EQ(f64_expm1(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(bits_of(f64_expm1(-0.0)), bits_of(-0.0));
  EXPECT_EQ(f64_tanh(-HUGE_VAL), -1.0);
  EXPECT_EQ(f64_erf(HUGE_VAL), 1.0);
  EXPECT_EQ(f64_erfc(-HUGE_VAL), 2.0);
  EXPECT_EQ(f64_erfc(HUGE_VAL), 0.0);
  EXPECT_EQ(f64_sigmoid(-HUGE_VAL), 0.0);
  EXPECT_EQ(bits_of(f64_gelu_erf(-HUGE_VAL)), bits_of(-0.0));
  EXPECT_EQ(f64_gelu_erf(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(bits_of(f64_gelu_tanh(-HUGE_VAL)), bits_of(-0.0));
  EXPECT_EQ(f64_gelu_tanh(HUGE_VAL), HUGE_VAL);
}

TEST(FunctionValues, EveryNanIsTheOneNanInFloat64) {
  for (double (*f)(double) :
       {f64_exp,      f64_expm1,     f64_log,   f64_tanh,  f64_erf,   f64_erfc,     f64_sqrt, f64_rsqrt, f64_sigmoid,
        f64_gelu_erf, f64_gelu_tanh, f64_log1p, f64_sin,   f64_cos,   f64_tan,      f64_asin, f64_acos,  f64_atan,
        f64_sinh,     f64_cosh,      f64_asinh, f64_acosh, f64_atanh, f64_softplus, f64_mish}) {
    for (const uint64_t nan : {0xfff8000000000001ull, 0x7ff0000000000001ull, 0xffffffffffffffffull}) {
      EXPECT_EQ(bits_of(f(f64_from_bits(nan))), kNanBitsF64);
    }
  }
}

struct SpecialValue {
  float (*narrow)(float);
  double (*wide)(double);
  double argument, expected;  // both exact in float32; NaN is the one NaN
};

TEST(FunctionValues, SpecialInBothTypes) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = HUGE_VAL;
  const SpecialValue values[] = {
      {cr_expm1, f64_expm1, -kInfinite, -1},
      {cr_expm1, f64_expm1, kInfinite, kInfinite},
      {cr_log1p, f64_log1p, -1, -kInfinite},
      {cr_log1p, f64_log1p, kInfinite, kInfinite},
      {cr_log1p, f64_log1p, -1.5, kNan},
      {cr_log1p, f64_log1p, -kInfinite, kNan},
      {cr_tan, f64_tan, kInfinite, kNan},
      {cr_tan, f64_tan, -kInfinite, kNan},
      {cr_sin, f64_sin, kInfinite, kNan},
      {cr_cos, f64_cos, -kInfinite, kNan},
      {cr_cos, f64_cos, -0.0, 1},
      {cr_asin, f64_asin, 1.5, kNan},
      {cr_asin, f64_asin, -kInfinite, kNan},
      {cr_acos, f64_acos, 1, 0},
      {cr_acos, f64_acos, -1.5, kNan},
      {cr_acos, f64_acos, kInfinite, kNan},
      {cr_sinh, f64_sinh, -kInfinite, -kInfinite},
      {cr_cosh, f64_cosh, -kInfinite, kInfinite},
      {cr_cosh, f64_cosh, -0.0, 1},
      {cr_asinh, f64_asinh, -kInfinite, -kInfinite},
      {cr_acosh, f64_acosh, 1, 0},
      {cr_acosh, f64_acosh, kInfinite, kInfinite},
      {cr_acosh, f64_acosh, 0.5, kNan},
      {cr_acosh, f64_acosh, -kInfinite, kNan},
      {cr_atanh, f64_atanh, -1, -kInfinite},
      {cr_atanh, f64_atanh, 1, kInfinite},
      {cr_atanh, f64_atanh, 1.5, kNan},
      {cr_atanh, f64_atanh, -kInfinite, kNan},
      {cr_softplus, f64_softplus, -kInfinite, 0},
      {cr_softplus, f64_softplus, kInfinite, kInfinite},
      {cr_mish, f64_mish, -kInfinite, -0.0},
      {cr_mish, f64_mish, kInfinite, kInfinite},
  };
  for (const SpecialValue& v : values) {
    const auto place = &v - values;
    EXPECT_EQ(bits_of(v.narrow(static_cast<float>(v.argument))), bits_of(static_cast<float>(v.expected))) << place;
    EXPECT_EQ(bits_of(v.wide(v.argument)), bits_of(v.expected)) << place;
  }
  constexpr double kHalfPi = 1.5707963267948966;
  EXPECT_EQ(f64_atan(HUGE_VAL), kHalfPi);
  EXPECT_EQ(f64_atan(-HUGE_VAL), -kHalfPi);
  EXPECT_EQ(f64_asin(1), kHalfPi);
  EXPECT_EQ(f64_acos(-1), 2 * kHalfPi);
  EXPECT_EQ(cr_atan(-kInf), static_cast<float>(-kHalfPi));
  EXPECT_EQ(cr_acos(-1.0f), static_cast<float>(2 * kHalfPi));
}

TEST(FunctionValues, ZeroAndTheSmallestStayWhereTheSlopeIsOne) {
  for (float (*f)(float) : {cr_expm1, cr_log1p, cr_tan, cr_asin, cr_atan, cr_sinh, cr_asinh, cr_atanh}) {
    for (const float x : {0.0f, -0.0f, 0x1p-149f, -0x1p-149f}) EXPECT_EQ(bits_of(f(x)), bits_of(x));
  }
  for (double (*f)(double) :
       {f64_expm1, f64_log1p, f64_sin, f64_tan, f64_asin, f64_atan, f64_sinh, f64_asinh, f64_atanh}) {
    for (const double x : {0.0, -0.0, 0x1p-1074, -0x1p-1074, 0x1.8p-1000}) EXPECT_EQ(bits_of(f(x)), bits_of(x));
  }
  EXPECT_EQ(bits_of(cr_mish(-0.0f)), bits_of(-0.0f));
  EXPECT_EQ(bits_of(f64_mish(-0.0)), bits_of(-0.0));
}

struct Wide {
  const char* name;
  double (*ours)(double);
  oracle::Exact exact;
  double low, high;  // of the arguments drawn uniformly
  bool graded;       // also arguments of every magnitude
};

class FunctionsF64 : public testing::TestWithParam<Wide> {};

// 1e-15 is 9.007 units of 2^-53.
TEST_P(FunctionsF64, RelativeErrorBelow1e15) {
  const Wide& f = GetParam();
  std::mt19937_64 random(4);
  double worst = 0, at = 0;
  const auto check = [&](double x) {
    if (x == 0 || x < f.low || x > f.high) return;
    const double error = oracle::error_in_units(f.exact, x, f.ours(x));
    if (!(error <= worst)) worst = error, at = x;
  };
  for (int i = 0; i < (whole_test() ? 3000 : 800); ++i) {
    check(f.low + (f.high - f.low) * static_cast<double>(random() >> 11) * 0x1p-53);
    check(4 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5));
    check(40 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5));
    if (f.graded) check(std::ldexp(random() & 1 ? 1.3 : -1.7, 999 - static_cast<int>(random() % 1999)));
  }
  std::printf("%s: largest error %.2f units of 2^-53, at %a\n", f.name, worst, at);
  EXPECT_LT(worst, 9.007);
}

INSTANTIATE_TEST_SUITE_P(
    All, FunctionsF64,
    testing::Values(Wide{"exp", f64_exp, oracle::exact_exp, -708, 709.7, true},
                    Wide{"expm1", f64_expm1, oracle::exact_expm1, -50, 709.7, true},
                    Wide{"log", f64_log, oracle::exact_log, 0x1p-1070, 1e6, true},
                    Wide{"tanh", f64_tanh, oracle::exact_tanh, -30, 30, true},
                    Wide{"erf", f64_erf, oracle::exact_erf, -8, 8, true},
                    Wide{"erfc", f64_erfc, oracle::exact_erfc, -8, 26.5, true},
                    Wide{"sqrt", f64_sqrt, oracle::exact_sqrt, 0, 1e300, true},
                    Wide{"rsqrt", f64_rsqrt, oracle::exact_rsqrt, 0, 1e300, true},
                    Wide{"sigmoid", f64_sigmoid, oracle::exact_sigmoid, -708, 100, true},
                    Wide{"gelu_erf", f64_gelu_erf, oracle::exact_gelu_erf, -37.4, 50, true},
                    Wide{"gelu_tanh", f64_gelu_tanh, oracle::exact_gelu_tanh, -20.5, 50, true},
                    Wide{"log1p", f64_log1p, oracle::exact_log1p, -0x1.fffffffffffffp-1, 1e300, true},
                    Wide{"sin", f64_sin, oracle::exact_sin, -1e300, 1e300, true},
                    Wide{"cos", f64_cos, oracle::exact_cos, -1e300, 1e300, true},
                    Wide{"tan", f64_tan, oracle::exact_tan, -1e300, 1e300, true},
                    Wide{"asin", f64_asin, oracle::exact_asin, -1, 1, true},
                    Wide{"acos", f64_acos, oracle::exact_acos, -1, 1, true},
                    Wide{"atan", f64_atan, oracle::exact_atan, -1e300, 1e300, true},
                    Wide{"sinh", f64_sinh, oracle::exact_sinh, -710.4, 710.4, true},
                    Wide{"cosh", f64_cosh, oracle::exact_cosh, -710.4, 710.4, true},
                    Wide{"asinh", f64_asinh, oracle::exact_asinh, -1e300, 1e300, true},
                    Wide{"acosh", f64_acosh, oracle::exact_acosh, 1, 1e300, true},
                    Wide{"atanh", f64_atanh, oracle::exact_atanh, -0x1.fffffffffffffp-1, 0x1.fffffffffffffp-1, true},
                    Wide{"softplus", f64_softplus, oracle::exact_softplus, -700, 700, true},
                    Wide{"mish", f64_mish, oracle::exact_mish, -700, 700, true}),
    [](const testing::TestParamInfo<Wide>& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace isobit::numerics
