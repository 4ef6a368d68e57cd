#include "isobit/kernels/activation/formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "isobit/kernels/activation/real_oracle.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::Real;
using testing::same_bits;
using testing::Values;

Real expm1_real(const Real& x) { return Real::of(mpfr_expm1, x); }
Real sigmoid_real(const Real& x) { return Real(1) / (Real(1) + Real::of(mpfr_exp, Real(0) - x)); }

struct Case {
  const char* name;
  std::function<double(double)> formula;
  std::function<Real(const Real&)> exact;
};

// Numbers of attributes are float32, so that their products with float32 are exact before they are rounded.
std::vector<Case> cases() {
  const auto negative = [](const Real& x) { return x.value() < 0; };
  return {
      {"elu", Elu{0.7F}, [=](const Real& x) { return negative(x) ? Real(0.7F) * expm1_real(x) : x; }},
      {"selu", Selu{1.7F, 1.1F},
       [=](const Real& x) { return Real(1.1F) * (negative(x) ? Real(1.7F) * expm1_real(x) : x); }},
      {"celu", Celu{2.5F}, [=](const Real& x) { return negative(x) ? Real(2.5F) * expm1_real(x / Real(2.5F)) : x; }},
      {"hard sigmoid", HardSigmoid{0.2F, 0.5F},
       [](const Real& x) {
         const Real u = Real(0.2F) * x + Real(0.5F);
         return u.value() < 0 ? Real(0) : u.value() > 1 ? Real(1) : u;
       }},
      {"hard swish", HardSwish(),
       [](const Real& x) { return x.value() >= 3    ? x
                                  : x.value() <= -3 ? Real(-0.0F)
                                                    : x * (x + Real(3)) / Real(6); }},
      {"softsign", Softsign(), [=](const Real& x) { return x / (Real(1) + (negative(x) ? Real(0) - x : x)); }},
      {"swish", Swish{1.5F}, [](const Real& x) { return x * sigmoid_real(Real(1.5F) * x); }},
      {"thresholded relu", ThresholdedRelu{0.4F}, [](const Real& x) { return x.value() > 0.4F ? x : Real(0); }},
      {"shrink", Shrink{0.4F, 0.3F},
       [](const Real& x) { return x.value() < -0.4F  ? x + Real(0.3F)
                                  : x.value() > 0.4F ? x - Real(0.3F)
                                                     : Real(0); }},
  };
}

template <class T>
class Formulas : public ::testing::Test {};
using FloatList = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Formulas, FloatList);

// float32: the nearest number in every sample, since an error in the last places of float64 is seldom seen. float64: a
// few units in the last place, relative to the operand where numbers cancel.
TYPED_TEST(Formulas, AgainstMpfr) {
  using T = TypeParam;
  for (const Case& c : cases()) {
    for (T unit : random_values<T>(3000, Values::kUnit, 31)) {
      const T x = unit * 4, found = InFloat64{c.formula}(x);
      const T expected = c.exact(Real(static_cast<double>(x))).template rounded<T>();
      if constexpr (sizeof(T) == 4) {
        ASSERT_EQ(numerics::ulp_distance(expected, found), 0U) << c.name << " of " << testing::describe(x);
      } else {
        const double scale = std::max(std::abs(expected), std::abs(x));
        ASSERT_LE(std::abs(found - expected), 12 * 0x1p-53 * scale) << c.name << " of " << testing::describe(x);
      }
    }
  }
}

TYPED_TEST(Formulas, AnyNanGivesTheOneNan) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Case& c : cases()) {
    EXPECT_TRUE(
        same_bits(std::vector<T>{nan, nan}, std::vector<T>{InFloat64{c.formula}(nan), InFloat64{c.formula}(-nan)}))
        << c.name;
  }
}

TYPED_TEST(Formulas, InfinitiesAndZerosHaveTheirLimits) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity();
  const std::vector<T> src = {inf, -inf, T(0), T(-0.0), std::numeric_limits<T>::denorm_min()};
  const auto check = [&](auto f, std::vector<T> expected) {
    std::vector<T> found;
    for (T x : src) found.push_back(InFloat64{f}(x));
    EXPECT_TRUE(same_bits(expected, found));
  };
  const T tiny = src[4], zero = T(-0.0);
  check(Elu{0.5}, {inf, T(-0.5), T(0), zero, tiny});
  check(Selu{0.5, 2}, {inf, T(-1), T(0), zero, 2 * tiny});
  check(Celu{0.5}, {inf, T(-0.5), T(0), zero, tiny});
  check(HardSigmoid{0.25, 0.5}, {T(1), T(0), T(0.5), T(0.5), T(0.5)});
  check(HardSwish(), {inf, zero, T(0), zero, tiny / 2});
  check(Softsign(), {T(1), T(-1), T(0), zero, tiny});
  check(Swish{1}, {inf, zero, T(0), zero, tiny / 2});
  check(ThresholdedRelu{0}, {inf, T(0), T(0), T(0), tiny});
  check(Shrink{1, 2}, {inf, -inf, T(0), T(0), T(0)});
}

TEST(Formulas, OfIntegersAreTruncatedAndClamped) {
  const InFloat64 shrink{Shrink{1.5, -2.5}};  // away from zero
  EXPECT_EQ(shrink(int8_t{1}), 0);
  EXPECT_EQ(shrink(int8_t{2}), 4);
  EXPECT_EQ(shrink(int8_t{-2}), -4);
  EXPECT_EQ(shrink(int8_t{127}), 127);
  EXPECT_EQ(shrink(int8_t{-128}), -128);
  EXPECT_EQ(shrink(uint16_t{65535}), 65535);
  EXPECT_EQ(shrink(int64_t{7}), 9);
  EXPECT_EQ((InFloat64{Shrink{1.5, 10}}(uint8_t{3})), 0);
}

}  // namespace
}  // namespace isobit::kernels
