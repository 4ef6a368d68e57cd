#include "isobit/kernels/elementwise/unary.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>

#include "isobit/kernels/testing.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using testing::random_values;
using testing::same_bits;
using testing::Values;

struct Case {
  UnaryOp op;
  int (*mpfr)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  bool exact_f64;  // double: correctly rounded, too
};

int reciprocal(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) { return mpfr_ui_div(y, 1, x, r); }
// MPFR gives 1/sqrt(-0) = +inf; IEEE 754's rSqrt, and the contract, keep the sign.
int rsqrt(mpfr_t y, const mpfr_t x, mpfr_rnd_t r) {
  if (mpfr_zero_p(x)) return mpfr_set_inf(y, mpfr_signbit(x) ? -1 : 1), 0;
  return mpfr_rec_sqrt(y, x, r);
}

const Case kCases[] = {{UnaryOp::kNeg, mpfr_neg, true},          {UnaryOp::kAbs, mpfr_abs, true},
                       {UnaryOp::kSqrt, mpfr_sqrt, true},        {UnaryOp::kExp, mpfr_exp, false},
                       {UnaryOp::kLog, mpfr_log, false},         {UnaryOp::kErf, mpfr_erf, false},
                       {UnaryOp::kSin, mpfr_sin, false},         {UnaryOp::kCos, mpfr_cos, false},
                       {UnaryOp::kReciprocal, reciprocal, true}, {UnaryOp::kRsqrt, rsqrt, false}};

// The float nearest to the function's value: 200 bits, then one rounding to the format (subnormals included).
template <class T>
T oracle(const Case& c, T x) {
  mpfr_t a, y;
  mpfr_init2(a, 53);
  mpfr_init2(y, 400);
  mpfr_set_d(a, static_cast<double>(x), MPFR_RNDN);
  c.mpfr(y, a, MPFR_RNDN);
  const T result =
      sizeof(T) == 4 ? static_cast<T>(mpfr_get_flt(y, MPFR_RNDN)) : static_cast<T>(mpfr_get_d(y, MPFR_RNDN));
  mpfr_clear(a);
  mpfr_clear(y);
  return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
}

template <class T>
class Unary : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Unary, Types);

TEST(Cube, IsThePowerEverywhere) {
  for (const Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
    const std::vector<float> x = random_values<float>(5001, kind, 4);
    testing::expect_same_everywhere("cube", [&](const KernelContext& ctx) {
      std::vector<float> y(x.size());
      cube(ctx, static_cast<int64_t>(x.size()), x.data(), y.data());
      return std::vector<std::vector<float>>{y};
    });
    std::vector<float> wanted, found(x.size());
    for (const float v : x) wanted.push_back(numerics::cr_pow(v, 3));
    ThreadPool pool(1);
    cube({Isa::kPortable, &pool}, static_cast<int64_t>(x.size()), x.data(), found.data());
    EXPECT_TRUE(testing::same_bits(wanted, found));
  }
}

TYPED_TEST(Unary, ReferenceAgainstMpfr) {
  using T = TypeParam;
  ThreadPool pool(1);
  for (const Case& c : kCases) {
    for (Values kind : {Values::kUnit, Values::kSpecial}) {
      const std::vector<T> src = random_values<T>(2000, kind, 5);
      std::vector<T> dst(src.size());
      unary(KernelContext{Isa::kReference, &pool}, c.op, 2000, src.data(), dst.data());
      for (size_t i = 0; i < src.size(); ++i) {
        const T expected = oracle(c, src[i]);
        // double: 1e-15 relative, as numerics/functions.h promises; a few units where the result is subnormal.
        const uint64_t tolerance = sizeof(T) == 4 || c.exact_f64 ? 0 : 5;
        ASSERT_LE(numerics::ulp_distance(expected, dst[i]), tolerance)
            << static_cast<int>(c.op) << " of " << testing::describe(src[i]) << ": expected "
            << testing::describe(expected) << ", found " << testing::describe(dst[i]);
        if (tolerance == 0) {
          ASSERT_EQ(numerics::bits_of(expected), numerics::bits_of(dst[i])) << i;
        }
      }
    }
  }
}

TYPED_TEST(Unary, EveryIsaAndThreadCount) {
  using T = TypeParam;
  ThreadPool one(1);
  for (const Case& c : kCases) {
    for (int64_t n : {0, 1, 3, 255, 20011}) {
      for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
        const std::vector<T> src = random_values<T>(static_cast<size_t>(n), kind, 6);
        std::vector<T> expected(src.size());
        unary(KernelContext{Isa::kReference, &one}, c.op, n, src.data(), expected.data());
        for_each_context([&](const KernelContext& ctx, const std::string& name) {
          std::vector<T> dst = src;
          unary(ctx, c.op, n, dst.data(), dst.data());
          EXPECT_TRUE(same_bits(expected, dst)) << name << " op " << static_cast<int>(c.op);
        });
      }
    }
  }
}

TYPED_TEST(Unary, Scale) {
  using T = TypeParam;
  for (int64_t n : {0, 1, 5, 33333}) {
    const std::vector<T> src = random_values<T>(static_cast<size_t>(n), Values::kSpecial, 7);
    for (T factor : {T(1), T(-0.0), T(1) / 3, std::numeric_limits<T>::infinity(), T(1e-30)}) {
      std::vector<T> expected;
      for (T x : src) expected.push_back(numerics::canonical(factor * x));
      for_each_context([&](const KernelContext& ctx, const std::string& name) {
        std::vector<T> dst(src.size());
        scale(ctx, n, factor, src.data(), dst.data());
        EXPECT_TRUE(same_bits(expected, dst)) << name;
      });
    }
  }
}

// ---- cast ----

template <class From, class To>
void check_cast(const std::vector<From>& src, const std::vector<To>& expected) {
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<To> dst(src.size());
    cast(ctx, dtype_of<From>(), dtype_of<To>(), static_cast<int64_t>(src.size()), src.data(), dst.data());
    EXPECT_TRUE(same_bits(expected, dst)) << name;
  });
}

TEST(Cast, FloatsToIntegers) {
  const double inf = INFINITY;
  const std::vector<double> src{0.0,
                                -0.0,
                                0.99,
                                -0.99,
                                2.5,
                                -2.5,
                                255.9,
                                256.0,
                                -1.0,
                                2147483647.5,
                                2147483648.0,
                                -2147483648.9,
                                -2147483649.0,
                                9223372036854775807.0,
                                -9223372036854775808.0,
                                1e300,
                                inf,
                                -inf,
                                NAN,
                                -NAN};
  const int32_t hi = INT32_MAX, lo = INT32_MIN;
  const int64_t high = INT64_MAX, low = INT64_MIN;
  check_cast<double, int32_t>(src, {0, 0, 0, 0, 2, -2, 255, 256, -1, hi, hi, lo, lo, hi, lo, hi, hi, lo, 0, 0});
  check_cast<double, uint8_t>(src, {0, 0, 0, 0, 2, 0, 255, 255, 0, 255, 255, 0, 0, 255, 0, 255, 255, 0, 0, 0});
  check_cast<double, int64_t>(src, {0,          0,           0,           0,    2,   -2,   255,  256, -1, 2147483647,
                                    2147483648, -2147483648, -2147483649, high, low, high, high, low, 0,  0});
  const std::vector<float> narrow{
      2147483520.0f,          2147483648.0f, -2147483648.0f, -2147483904.0f, 9223371487098961920.0f,
      9223372036854775808.0f, NAN,           1e-45f};
  check_cast<float, int32_t>(narrow, {2147483520, hi, lo, lo, hi, hi, 0, 0});
  check_cast<float, int64_t>(narrow,
                             {2147483520, 2147483648, -2147483648, -2147483904, 9223371487098961920, high, 0, 0});
}

TEST(Cast, BetweenFloats) {
  const float nan = numerics::nan_f32();
  check_cast<double, float>({1e300, -1e300, 1e-46, -1e-46, 1.0 + 0x1p-24, 1.0 + 0x1p-24 + 0x1p-52, -NAN, 0x1p-150},
                            {INFINITY, -INFINITY, 0.0f, -0.0f, 1.0f, 1.0f + 0x1p-23f, nan, 0.0f});
  check_cast<float, double>({1e-45f, -0.0f, INFINITY, numerics::f32_from_bits(0xffc12345u)},
                            {0x1p-149, -0.0, INFINITY, numerics::nan_f64()});
  // Same type: the payload stays.
  const float odd = numerics::f32_from_bits(0xffc12345u);
  check_cast<float, float>({odd, -0.0f}, {odd, -0.0f});
}

TEST(Cast, Integers) {
  check_cast<int64_t, int32_t>({INT64_MIN, -1, 4294967296 + 5, 2147483648}, {0, -1, 5, INT32_MIN});
  check_cast<int64_t, uint8_t>({-1, 256, 255, 511}, {255, 0, 255, 255});
  check_cast<int32_t, int64_t>({INT32_MIN, 7}, {INT32_MIN, 7});
  check_cast<uint8_t, float>({0, 255}, {0.0f, 255.0f});
  check_cast<int64_t, float>({16777217, 16777219, INT64_MAX, INT64_MIN}, {16777216.0f, 16777220.0f, 0x1p63f, -0x1p63f});
  check_cast<int64_t, double>({9007199254740993, -9007199254740995}, {9007199254740992.0, -9007199254740996.0});
}

TEST(Cast, Bools) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<float> src{0.0f, -0.0f, 1e-45f, NAN, -1.0f};
  std::vector<uint8_t> truth(5);
  cast(ctx, DType::kFloat32, DType::kBool, 5, src.data(), truth.data());
  EXPECT_EQ(truth, (std::vector<uint8_t>{0, 0, 1, 1, 1}));
  truth = {0, 1, 2, 255, 0};
  std::vector<int64_t> back(5);
  cast(ctx, DType::kBool, DType::kInt64, 5, truth.data(), back.data());
  EXPECT_EQ(back, (std::vector<int64_t>{0, 1, 1, 1, 0}));
}

}  // namespace
}  // namespace isobit::kernels
