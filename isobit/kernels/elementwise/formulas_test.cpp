#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>

#include "isobit/kernels/elementwise/functions.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::same_bits;
using testing::Values;

template <class T>
class Functions : public ::testing::Test {};
using FloatList = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Functions, FloatList);

template <class T, class F, class G>
void expect_same(const char* name, const std::vector<T>& src, F formula, G expected) {
  std::vector<T> found, wanted;
  for (T x : src) {
    found.push_back(formula(x));
    wanted.push_back(numerics::canonical(expected(x)));
  }
  EXPECT_TRUE(same_bits(wanted, found)) << name;
}

TYPED_TEST(Functions, WholeNumbersAgainstTheCLibrary) {
  using T = TypeParam;
  for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
    std::vector<T> src = random_values<T>(5000, kind, 21);
    for (int i = -40; i <= 40; ++i) src.push_back(static_cast<T>(i) / 4);
    // About the numbers from which on all are whole, and those that are 1/2 apart.
    for (T power : {T(0x1p22), T(0x1p23), T(0x1p24), T(0x1p51), T(0x1p52), T(0x1p53)}) {
      for (T x :
           {numerics::next_down(power), power, numerics::next_up(power), power / 2 + T(0.5), power / 2 + T(1.5)}) {
        src.push_back(x);
        src.push_back(-x);
      }
    }
    expect_same("floor", src, Floor(), [](T x) { return std::floor(x); });
    expect_same("ceil", src, Ceil(), [](T x) { return std::ceil(x); });
    expect_same("round", src, Round(), [](T x) { return std::nearbyint(x); });
  }
}

TEST(Round, TiesGoToTheEvenNeighbour) {
  for (const auto& [x, y] : std::vector<std::pair<float, float>>{
           {0.5f, 0.0f}, {1.5f, 2.0f}, {2.5f, 2.0f}, {-0.5f, -0.0f}, {-1.5f, -2.0f}, {-2.5f, -2.0f}}) {
    EXPECT_TRUE(same_bits(std::vector<float>{y}, std::vector<float>{Round()(x)})) << x;
  }
}

using Mpfr = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);

double nearest(Mpfr f, double x, bool f32) {
  mpfr_t a, y;
  mpfr_init2(a, 53);
  mpfr_init2(y, 300);
  mpfr_set_d(a, x, MPFR_RNDN);
  f(y, a, MPFR_RNDN);
  const double result = f32 ? static_cast<double>(mpfr_get_flt(y, MPFR_RNDN)) : mpfr_get_d(y, MPFR_RNDN);
  mpfr_clear(a);
  mpfr_clear(y);
  return result;
}

int softplus(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
  mpfr_exp(y, x, r);
  return mpfr_log1p(y, y, r);
}
int mish(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
  softplus(y, x, r);
  mpfr_tanh(y, y, r);
  return mpfr_mul(y, y, x, r);
}

// That each name is the function of that name; how exact they are is shown in numerics/.
TYPED_TEST(Functions, AreThoseOfTheirNames) {
  using T = TypeParam;
  const auto check = [](const char* name, auto formula, Mpfr f, double low, double high) {
    for (T unit : random_values<T>(500, Values::kUnit, 22)) {
      const T x = static_cast<T>(low + (high - low) * (0.5 + std::fmod(static_cast<double>(unit), 1.0) / 2));
      const auto expected = static_cast<T>(nearest(f, static_cast<double>(x), sizeof(T) == 4));
      ASSERT_LE(numerics::ulp_distance(expected, formula(x)), sizeof(T) == 4 ? 0U : 9U) << name << " of " << x;
    }
    EXPECT_TRUE(same_bits(std::vector<T>{std::numeric_limits<T>::quiet_NaN()},
                          std::vector<T>{formula(-std::numeric_limits<T>::quiet_NaN())}))
        << name;
  };
  check("tan", Tangent(), mpfr_tan, -9, 9);
  check("asin", ArcSine(), mpfr_asin, -1, 1);
  check("acos", ArcCosine(), mpfr_acos, -1, 1);
  check("atan", ArcTangent(), mpfr_atan, -9, 9);
  check("sinh", HyperbolicSine(), mpfr_sinh, -9, 9);
  check("cosh", HyperbolicCosine(), mpfr_cosh, -9, 9);
  check("asinh", AreaSine(), mpfr_asinh, -9, 9);
  check("acosh", AreaCosine(), mpfr_acosh, 1, 9);
  check("atanh", AreaTangent(), mpfr_atanh, -1, 1);
  check("softplus", Softplus(), softplus, -20, 20);
  check("mish", Mish(), mish, -20, 20);
}

}  // namespace
}  // namespace isobit::kernels
