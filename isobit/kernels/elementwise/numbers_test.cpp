#include "isobit/kernels/elementwise/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "isobit/kernels/elementwise/map.h"
#include "isobit/kernels/elementwise/power.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using testing::random_values;
using testing::same_bits;
using testing::Values;

__extension__ typedef __int128 Wide;

template <class T>
std::vector<T> integers(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> v(n);
  const T edges[] = {0, 1, 2, static_cast<T>(-1), std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  for (T& x : v) x = random() % 3 == 0 ? edges[random() % 6] : static_cast<T>(random() >> (random() % 60));
  return v;
}

// ---- the loops ----

TEST(Map, EveryElementOnceOnAnyNumberOfThreads) {
  for (int64_t n : {0, 1, 5, 4097, 40000}) {
    const auto src = random_values<float>(static_cast<size_t>(n), Values::kUnit, 3);
    std::vector<float> expected;
    for (float x : src) expected.push_back(x * 2);
    for_each_context([&](const KernelContext& ctx, const std::string& name) {
      std::vector<float> dst = src;
      map(
          ctx, [](float x) { return x * 2; }, n, dst.data(), dst.data());
      EXPECT_TRUE(same_bits(expected, dst)) << name << " " << n;
    });
  }
}

// The element of an operand that belongs to element e of the output, axis by axis from the last.
int64_t place_in(const Shape& operand, const Shape& dst, int64_t e) {
  int64_t place = 0, step = 1;
  for (int axis = 1; axis <= dst.rank(); ++axis) {
    const int64_t i = e % dst[-axis];
    e /= dst[-axis];
    if (axis > operand.rank()) continue;
    place += (operand[-axis] == 1 ? 0 : i) * step;
    step *= operand[-axis];
  }
  return place;
}

std::vector<int64_t> numbered(const Shape& shape, int64_t from) {
  std::vector<int64_t> v(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = from + static_cast<int64_t>(i);
  return v;
}

TEST(Zip, ThreeOperandsOfShapesThatBroadcast) {
  struct Case {
    Shape dst, a, b, c;
  };
  const Case cases[] = {{{4, 5}, {4, 5}, {4, 5}, {4, 5}},
                        {{4, 5}, {4, 1}, {5}, {}},
                        {{2, 3, 4}, {3, 1}, {2, 1, 4}, {1, 3, 1}},
                        {{3, 50, 7}, {3, 50, 7}, {50, 1}, {3, 1, 7}},
                        {{2, 4000, 3}, {2, 1, 1}, {4000, 1}, {3}},
                        {{5, 6}, {}, {}, {5, 1}},
                        {{1, 1}, {1}, {}, {1, 1}},
                        {{}, {}, {}, {}},
                        {{0, 3}, {0, 1}, {3}, {}},
                        {{3, 0}, {3, 1}, {1, 0}, {}}};
  for (const Case& c : cases) {
    const Shape operands[] = {c.a, c.b, c.c};
    const BroadcastPlan plan = plan_broadcast_to(c.dst, operands);
    ASSERT_EQ(plan.elements, c.dst.elements());
    const auto a = numbered(c.a, 0), b = numbered(c.b, 1000000), d = numbered(c.c, 2000000);
    std::vector<double> expected;
    const auto f = [](int64_t x, int64_t y, int64_t z) { return static_cast<double>(x) * 3 + 5 * y + 7 * z; };
    for (int64_t e = 0; e < c.dst.elements(); ++e) {
      expected.push_back(f(a[static_cast<size_t>(place_in(c.a, c.dst, e))],
                           b[static_cast<size_t>(place_in(c.b, c.dst, e))],
                           d[static_cast<size_t>(place_in(c.c, c.dst, e))]));
    }
    for_each_context([&](const KernelContext& ctx, const std::string& name) {
      std::vector<double> dst(expected.size());
      zip(ctx, f, plan, dst.data(), a.data(), b.data(), d.data());
      EXPECT_TRUE(same_bits(expected, dst)) << name << " " << c.dst.text();
    });
  }
}

TEST(Zip, OneOperandIsSpreadOverTheOutput) {
  const Shape operand{3, 1};
  const BroadcastPlan plan = plan_broadcast_to({2, 3, 4}, {&operand, 1});
  const std::vector<float> src = {1, 2, 3};
  std::vector<float> expected;
  for (int i = 0; i < 24; ++i) expected.push_back(static_cast<float>(i / 4 % 3 + 1));
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<float> dst(24);
    zip(ctx, Itself(), plan, dst.data(), src.data());
    EXPECT_TRUE(same_bits(expected, dst)) << name;
  });
}

TEST(BroadcastPlan, AnAxisIsMergedOnlyWhereEveryOperandAllowsIt) {
  const Shape same[] = {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}};
  EXPECT_EQ(plan_broadcast_to({2, 3, 4}, same).dims, std::vector<int64_t>{24});
  const Shape mixed[] = {{2, 3, 4}, {3, 4}, {}};
  EXPECT_EQ(plan_broadcast_to({2, 3, 4}, mixed).dims, (std::vector<int64_t>{2, 12}));
  const Shape third[] = {{2, 3, 4}, {3, 4}, {3, 1}};
  EXPECT_EQ(plan_broadcast_to({2, 3, 4}, third).dims, (std::vector<int64_t>{2, 3, 4}));
}

TEST(Zip, TruthsAreBytesOfAnyValue) {
  ThreadPool pool(1);
  const KernelContext ctx{Isa::kReference, &pool};
  const std::vector<uint8_t> a = {0, 0, 1, 1, 2, 255}, b = {0, 1, 0, 1, 1, 0};
  const BroadcastPlan plan = plan_broadcast({6}, {6});
  std::vector<uint8_t> dst(6);
  const auto run = [&](auto f) {
    zip(ctx, f, plan, dst.data(), a.data(), b.data());
    return dst;
  };
  EXPECT_EQ(run(std::logical_and<>()), (std::vector<uint8_t>{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(run(std::logical_or<>()), (std::vector<uint8_t>{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(run(OtherTruth()), (std::vector<uint8_t>{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(run(SameTruth()), (std::vector<uint8_t>{1, 0, 0, 1, 1, 0}));
  map(ctx, std::logical_not<>(), 6, a.data(), dst.data());
  EXPECT_EQ(dst, (std::vector<uint8_t>{1, 1, 0, 0, 0, 0}));
}

// ---- integers ----

template <class T>
class Integers : public ::testing::Test {};
using IntegerList = ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerList);

TYPED_TEST(Integers, SignsAndMagnitudesAgainstWiderArithmetic) {
  using T = TypeParam;
  for (T x : integers<T>(2000, 1)) {
    const Wide wide = x;
    EXPECT_EQ(NegatedInteger()(x), static_cast<T>(-wide));
    EXPECT_EQ(MagnitudeOfInteger()(x), static_cast<T>(wide < 0 ? -wide : wide));
    EXPECT_EQ(PositivePartOfInteger()(x), static_cast<T>(wide < 0 ? 0 : wide));
    EXPECT_EQ(Sign()(x), static_cast<T>(wide < 0 ? -1 : wide > 0 ? 1 : 0));
    EXPECT_EQ(Itself()(x), x);
  }
}

TYPED_TEST(Integers, RemaindersAgainstWiderArithmetic) {
  using T = TypeParam;
  const auto a = integers<T>(4000, 2), b = integers<T>(4000, 3);
  for (size_t i = 0; i < a.size(); ++i) {
    const Wide x = a[i], y = b[i];
    const Wide truncated_quotient = y == 0 ? 0 : x / y;
    const Wide floored_quotient =
        y != 0 && (x < 0) != (y < 0) && x % y != 0 ? truncated_quotient - 1 : truncated_quotient;
    const T by_dividend = y == 0 ? T(0) : static_cast<T>(x - truncated_quotient * y);
    const T by_divisor = y == 0 ? T(0) : static_cast<T>(x - floored_quotient * y);
    ASSERT_EQ(Remainder{true}(a[i], b[i]), by_dividend) << i;
    ASSERT_EQ(Remainder{false}(a[i], b[i]), by_divisor) << i;
  }
}

TYPED_TEST(Integers, PowersAgainstRepeatedMultiplication) {
  using T = TypeParam;
  for (T x : integers<T>(300, 4)) {
    T power = 1;
    for (uint64_t n = 0; n < 70; ++n) {
      ASSERT_EQ(integer_power(x, n), power);
      power = static_cast<T>(static_cast<Modular<T>>(power) * static_cast<Modular<T>>(x));
    }
  }
}

TYPED_TEST(Integers, ProductsBySlopeWrap) {
  using T = TypeParam;
  const auto a = integers<T>(2000, 5), b = integers<T>(2000, 6);
  for (size_t i = 0; i < a.size(); ++i) {
    const Wide x = a[i], slope = b[i];
    ASSERT_EQ(LeakyBySlope()(a[i], b[i]), static_cast<T>(x < 0 ? slope * x : x)) << i;
  }
}

TEST(Shift, BitsThatLeaveAreLost) {
  EXPECT_EQ(Shift{true}(uint8_t{0x81}, uint8_t{1}), 0x02);
  EXPECT_EQ(Shift{false}(uint8_t{0x81}, uint8_t{1}), 0x40);
  EXPECT_EQ(Shift{true}(uint16_t{1}, uint16_t{15}), 0x8000);
  EXPECT_EQ(Shift{true}(uint64_t{1}, uint64_t{63}), uint64_t{1} << 63);
  EXPECT_EQ(Shift{false}(uint32_t{0x80000000}, uint32_t{31}), 1U);
  for (bool left : {false, true}) {
    EXPECT_EQ(Shift{left}(uint8_t{255}, uint8_t{8}), 0);
    EXPECT_EQ(Shift{left}(uint32_t{7}, uint32_t{32}), 0U);
    EXPECT_EQ(Shift{left}(uint64_t{7}, ~uint64_t{0}), 0U);
    EXPECT_EQ(Shift{left}(uint16_t{7}, uint16_t{0}), 7);
  }
}

// ---- floats ----

template <class T>
class Floats : public ::testing::Test {};
using FloatList = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Floats, FloatList);

TYPED_TEST(Floats, SignOfEverySpecialValue) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  const T nan = L::quiet_NaN();
  const std::vector<T> src = {T(3), T(-3), T(0), T(-0.0), L::infinity(), -L::infinity(), L::denorm_min(), -nan};
  std::vector<T> found;
  for (T x : src) found.push_back(Sign()(x));
  EXPECT_TRUE(same_bits(std::vector<T>{1, -1, 0, 0, 1, -1, 1, nan}, found));
}

TYPED_TEST(Floats, RemaindersAgainstTheCLibrary) {
  using T = TypeParam;
  const auto a = random_values<T>(4000, Values::kSpecial, 7), b = random_values<T>(4000, Values::kSpecial, 8);
  for (size_t i = 0; i < a.size(); ++i) {
    const std::vector<T> expected = {numerics::canonical(std::fmod(a[i], b[i]))};
    ASSERT_TRUE(same_bits(expected, std::vector<T>{Remainder{true}(a[i], b[i])})) << a[i] << " " << b[i];
  }
}

TYPED_TEST(Floats, SlopesAndTruths) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  const T nan = L::quiet_NaN(), inf = L::infinity();
  EXPECT_EQ(LeakyBySlope()(T(-3), T(0.5)), T(-1.5));
  EXPECT_EQ(LeakyBySlope()(T(3), T(0.5)), T(3));
  EXPECT_EQ(LeakyBySlope()(T(3), nan), T(3));
  EXPECT_TRUE(same_bits(std::vector<T>{nan}, std::vector<T>{LeakyBySlope()(-nan, T(2))}));
  EXPECT_TRUE(same_bits(std::vector<T>{nan}, std::vector<T>{LeakyBySlope()(-inf, T(0))}));
  EXPECT_TRUE(IsNan()(nan) && IsNan()(-nan) && !IsNan()(inf) && !IsNan()(T(0)));
  const IsInfinite any{}, negative{true, false}, positive{false, true}, none{false, false};
  EXPECT_TRUE(any(inf) && any(-inf) && !any(nan) && !any(L::max()));
  EXPECT_TRUE(negative(-inf) && !negative(inf) && positive(inf) && !positive(-inf));
  EXPECT_FALSE(none(inf) || none(-inf) || none(nan));
}

// ---- powers ----

TEST(Power, OfFloat32IsWhatTheFunctionGives) {
  for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
    for (float x : random_values<float>(2000, kind, 9)) {
      for (float y : {0.0f, 1.0f, 2.0f, 3.0f, -1.0f, 0.5f, -2.5f, 4.0f, 17.0f, INFINITY, -INFINITY, NAN}) {
        const std::vector<float> expected = {numerics::cr_pow(x, y)}, found = {Power()(x, y)};
        ASSERT_TRUE(same_bits(expected, found)) << testing::describe(x) << " to the " << y;
        ASSERT_TRUE(same_bits(expected, std::vector<float>{Power()(x, static_cast<double>(y))}));
      }
    }
  }
}

TEST(Power, ExponentsOfAnyType) {
  EXPECT_EQ(Power()(1.5f, int32_t{3}), 3.375f);
  EXPECT_EQ(Power()(1.5f, uint8_t{2}), 2.25f);
  EXPECT_EQ(Power()(2.0f, int64_t{-3}), 0.125f);
  EXPECT_EQ(Power()(2.0, int64_t{10}), 1024.0);
  EXPECT_EQ(Power()(-3.0, uint16_t{3}), -27.0);
  EXPECT_EQ(Power()(5.0, -1.0f), 0.2);
  // An exponent that float32 does not hold: 0.1 as a float64.
  EXPECT_FLOAT_EQ(Power()(2.0f, 0.1), std::pow(2.0f, 0.1f));
  EXPECT_EQ(Power()(3.0f, int64_t{1} << 60), INFINITY);
}

TEST(Power, OfIntegers) {
  EXPECT_EQ(Power()(int32_t{3}, int32_t{4}), 81);
  EXPECT_EQ(Power()(int32_t{-2}, uint64_t{31}), INT32_MIN);
  EXPECT_EQ(Power()(int64_t{10}, 18.0), 1000000000000000000);
  EXPECT_EQ(Power()(int32_t{7}, -0.0), 1);
  EXPECT_EQ(Power()(int32_t{0}, int8_t{0}), 1);
  // To a negative exponent only 1 and -1 have powers.
  for (int64_t y : {-1, -2, -3}) {
    EXPECT_EQ(Power()(int64_t{1}, y), 1);
    EXPECT_EQ(Power()(int64_t{-1}, y), y % 2 == 0 ? 1 : -1);
    EXPECT_EQ(Power()(int64_t{-1}, static_cast<float>(y)), y % 2 == 0 ? 1 : -1);
    EXPECT_EQ(Power()(int64_t{5}, y), 0);
    EXPECT_EQ(Power()(int64_t{0}, y), 0);
  }
  // Roots that are whole are found whole; the others are truncated.
  for (int32_t x = 0; x <= 2000; ++x) {
    ASSERT_EQ(Power()(x * x, 0.5f), x);
    ASSERT_EQ(Power()(x, 0.5f), static_cast<int32_t>(std::sqrt(static_cast<double>(x)))) << x;
  }
  EXPECT_EQ(Power()(int32_t{10}, 0.99), 9);
  EXPECT_EQ(Power()(int32_t{-8}, 0.5), 0) << "NaN";
  EXPECT_EQ(Power()(int32_t{2}, INFINITY), INT32_MAX);
  EXPECT_EQ(Power()(int64_t{-3}, static_cast<double>(INFINITY)), INT64_MAX);
  EXPECT_EQ(Power()(int32_t{2}, -INFINITY), 0);
  EXPECT_EQ(Power()(int32_t{2}, NAN), 0);
  EXPECT_EQ(Power()(int32_t{1}, NAN), 1);
}

}  // namespace
}  // namespace isobit::kernels
