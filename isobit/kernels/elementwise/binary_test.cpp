#include "isobit/kernels/elementwise/binary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using testing::random_values;
using testing::same_bits;
using testing::Values;

constexpr BinaryOp kOps[] = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,
                             BinaryOp::kDiv, BinaryOp::kMax, BinaryOp::kMin};

template <class T>
std::vector<T> operands(size_t n, uint64_t seed) {
  if constexpr (std::is_floating_point_v<T>) {
    return random_values<T>(n, Values::kSpecial, seed);
  } else {
    std::mt19937_64 random(seed);
    std::vector<T> v(n);
    const T edges[] = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
    for (T& x : v) x = random() % 3 == 0 ? edges[random() % 5] : static_cast<T>(random() >> (random() % 60));
    return v;
  }
}

// By another way: float through binary64, whose product, sum or quotient of two float32 rounds to the same float32
// (53 >= 2 * 24 + 2); integers through 128 bits.
template <class T>
T oracle(BinaryOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    __extension__ typedef __int128 Wide;
    const Wide x = a, y = b;
    switch (op) {
      case BinaryOp::kAdd:
        return static_cast<T>(x + y);
      case BinaryOp::kSub:
        return static_cast<T>(x - y);
      case BinaryOp::kMul:
        return static_cast<T>(x * y);
      case BinaryOp::kDiv:
        return y == 0 ? T(0) : static_cast<T>(x / y);
      case BinaryOp::kMax:
        return x < y ? b : a;
      case BinaryOp::kMin:
        return x < y ? a : b;
    }
  }
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  const bool nan = std::isnan(x) || std::isnan(y);
  double r = 0;
  switch (op) {
    case BinaryOp::kAdd:
      r = x + y;
      break;
    case BinaryOp::kSub:
      r = x - y;
      break;
    case BinaryOp::kMul:
      r = x * y;
      break;
    case BinaryOp::kDiv:
      r = x / y;
      break;
    case BinaryOp::kMax:
      r = nan ? NAN : x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y);
      break;
    case BinaryOp::kMin:
      r = nan ? NAN : x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y);
      break;
  }
  return std::isnan(r) ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(r);
}

template <class T>
class Binary : public ::testing::Test {};
using Numbers =
    ::testing::Types<float, double, int64_t, int32_t, int16_t, int8_t, uint64_t, uint32_t, uint16_t, uint8_t>;
TYPED_TEST_SUITE(Binary, Numbers);

TYPED_TEST(Binary, SameShape) {
  using T = TypeParam;
  for (int64_t n : {0, 1, 7, 64, 1021, 70001}) {
    const auto a = operands<T>(static_cast<size_t>(n), 1), b = operands<T>(static_cast<size_t>(n), 2);
    for (BinaryOp op : kOps) {
      std::vector<T> expected(a.size());
      for (size_t i = 0; i < a.size(); ++i) expected[i] = oracle(op, a[i], b[i]);
      for_each_context([&](const KernelContext& ctx, const std::string& name) {
        std::vector<T> dst(a.size());
        binary(ctx, op, n, a.data(), b.data(), dst.data());
        EXPECT_TRUE(same_bits(expected, dst)) << name << " op " << static_cast<int>(op) << " n " << n;
        dst = a;
        binary(ctx, op, n, dst.data(), b.data(), dst.data());
        EXPECT_TRUE(same_bits(expected, dst)) << name << " in place of a";
        dst = b;
        binary(ctx, op, n, a.data(), dst.data(), dst.data());
        EXPECT_TRUE(same_bits(expected, dst)) << name << " in place of b";
      });
    }
  }
}

TYPED_TEST(Binary, Broadcasting) {
  using T = TypeParam;
  const std::vector<std::pair<Shape, Shape>> cases{{{4, 5}, {5}},
                                                   {{4, 5}, {4, 1}},
                                                   {{2, 3, 7}, {1, 3, 1}},
                                                   {{3, 1}, {1, 4}},
                                                   {{}, {6}},
                                                   {{6}, {}},
                                                   {{}, {}},
                                                   {{1}, {2, 1, 3}},
                                                   {{2, 1, 3}, {4, 1}},
                                                   {{2, 1, 3, 1}, {5, 1, 6}},
                                                   {{64, 10, 49}, {10, 1}},
                                                   {{300, 200}, {200}},
                                                   {{0, 3}, {3}},
                                                   {{1, 3}, {0, 1}},
                                                   {{1, 1, 1}, {1}},
                                                   {{70000}, {1}}};
  for (const auto& [sa, sb] : cases) {
    const auto a = operands<T>(static_cast<size_t>(sa.elements()), 3);
    const auto b = operands<T>(static_cast<size_t>(sb.elements()), 4);
    const Shape out = *broadcast_shape(sa, sb);
    // The operand's element for output element e, axis by axis from the last.
    auto pick = [&](const Shape& s, const std::vector<T>& v, int64_t e) {
      int64_t place = 0, step = 1;
      for (int axis = 1; axis <= out.rank(); ++axis) {
        const int64_t i = e % out[-axis];
        e /= out[-axis];
        if (axis > s.rank()) continue;
        place += (s[-axis] == 1 ? 0 : i) * step;
        step *= s[-axis];
      }
      return v[static_cast<size_t>(place)];
    };
    const BroadcastPlan plan = plan_broadcast(sa, sb);
    ASSERT_EQ(plan.elements, out.elements());
    for (BinaryOp op : kOps) {
      std::vector<T> expected;
      for (int64_t e = 0; e < out.elements(); ++e) expected.push_back(oracle(op, pick(sa, a, e), pick(sb, b, e)));
      for_each_context([&](const KernelContext& ctx, const std::string& name) {
        std::vector<T> dst(expected.size());
        binary(ctx, op, plan, a.data(), b.data(), dst.data());
        EXPECT_TRUE(same_bits(expected, dst)) << name << " " << sa.text() << " " << sb.text();
      });
    }
  }
}

TEST(BroadcastShape, Rules) {
  EXPECT_EQ(broadcast_shape({2, 1, 3}, {4, 1}), Shape({2, 4, 3}));
  EXPECT_EQ(broadcast_shape({}, {}), Shape());
  EXPECT_EQ(broadcast_shape({0}, {1}), Shape({0}));
  EXPECT_FALSE(broadcast_shape({2}, {3}).has_value());
  EXPECT_FALSE(broadcast_shape({0}, {2}).has_value());
}

TEST(BroadcastPlan, MergesWhatBothOperandsWalkAlike) {
  EXPECT_EQ(plan_broadcast({8, 3, 4, 5}, {8, 3, 4, 5}).dims, std::vector<int64_t>{480});
  EXPECT_EQ(plan_broadcast({8, 3, 4, 5}, {}).dims, std::vector<int64_t>{480});
  EXPECT_EQ(plan_broadcast({8, 3, 4, 5}, {4, 5}).dims, (std::vector<int64_t>{24, 20}));
  EXPECT_EQ(plan_broadcast({8, 3, 4, 5}, {3, 1, 1}).dims, (std::vector<int64_t>{8, 3, 20}));
}

TEST(MaxMin, SignedZerosAndNan) {
  ThreadPool pool(1);
  const float a[] = {0.0f, -0.0f, -0.0f, NAN, 1.0f}, b[] = {-0.0f, 0.0f, -0.0f, 1.0f, -NAN};
  for (Isa isa : available_isas()) {
    std::vector<float> dst(5);
    binary(KernelContext{isa, &pool}, BinaryOp::kMax, 5, a, b, dst.data());
    const float nan = numerics::nan_f32();
    EXPECT_TRUE(same_bits(std::vector<float>{0.0f, 0.0f, -0.0f, nan, nan}, dst)) << name_of(isa);
    binary(KernelContext{isa, &pool}, BinaryOp::kMin, 5, a, b, dst.data());
    EXPECT_TRUE(same_bits(std::vector<float>{-0.0f, -0.0f, -0.0f, nan, nan}, dst)) << name_of(isa);
  }
}

}  // namespace
}  // namespace isobit::kernels
