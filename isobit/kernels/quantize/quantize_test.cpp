#include "isobit/kernels/quantize/quantize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using testing::random_values;
using testing::same_bits;
using testing::Values;

template <class Q>
class Quantize : public ::testing::Test {};
using Narrow = ::testing::Types<int8_t, uint8_t, int16_t, uint16_t>;
TYPED_TEST_SUITE(Quantize, Narrow);

// By the C library, in float64 from the quotient on.
template <class Q, class T>
Q expected_of(T x, T scale, Q zero) {
  const T quotient = x / scale;
  if (std::isnan(quotient)) return zero;
  const double whole = std::nearbyint(static_cast<double>(quotient)) + static_cast<double>(zero);
  const double low = std::numeric_limits<Q>::lowest(), high = std::numeric_limits<Q>::max();
  return static_cast<Q>(whole < low ? low : whole > high ? high : whole);
}

// One scale; one for each place of the middle axis; one for each block of 2 of its 5 places.
std::vector<std::pair<ScaleLayout, int64_t>> layouts() {
  return {{{.inner = 4 * 5 * 700}, 1},
          {{.outer = 4, .axis = 5, .inner = 700, .axis_step = 1}, 5},
          {{.outer = 4, .axis = 5, .inner = 700, .block = 2, .outer_step = 3 * 700, .axis_step = 700, .inner_step = 1},
           4 * 3 * 700}};
}

int64_t scale_of(const ScaleLayout& s, int64_t e) {
  const int64_t i = e % s.inner, a = e / s.inner % s.axis, o = e / s.inner / s.axis;
  return o * s.outer_step + a / s.block * s.axis_step + i * s.inner_step;
}

template <class Q, class T>
void check_both_ways() {
  constexpr int64_t kElements = 4 * 5 * 700;
  for (const auto& [layout, scales] : layouts()) {
    std::vector<T> x = random_values<T>(kElements, Values::kSpecial, 41);
    std::vector<T> scale = random_values<T>(static_cast<size_t>(scales), Values::kUnit, 42);
    for (size_t i = 0; i < x.size(); i += 2) x[i] = static_cast<T>(static_cast<int64_t>(i % 401) - 200) / 2;  // ties
    for (size_t i = 0; i < scale.size(); i += 2) scale[i] = T(0.5);
    if (scales > 9) scale[9] = 0;
    std::vector<Q> zero(scale.size()), quantized(x.size()), without(x.size());
    std::vector<T> back(x.size());
    for (size_t i = 0; i < zero.size(); ++i) zero[i] = static_cast<Q>(i * 37 + 200);
    for (int64_t e = 0; e < kElements; ++e) {
      const auto i = static_cast<size_t>(e), s = static_cast<size_t>(scale_of(layout, e));
      quantized[i] = expected_of<Q>(x[i], scale[s], zero[s]);
      without[i] = expected_of<Q>(x[i], scale[s], Q(0));
      back[i] =
          numerics::canonical(static_cast<T>(static_cast<int>(quantized[i]) - static_cast<int>(zero[s])) * scale[s]);
    }
    for_each_context([&, shape = layout](const KernelContext& ctx, const std::string& name) {
      std::vector<Q> dst(x.size());
      quantize(ctx, shape, x.data(), scale.data(), zero.data(), dst.data());
      EXPECT_TRUE(same_bits(quantized, dst)) << name;
      std::vector<T> found(x.size());
      dequantize(ctx, shape, dst.data(), scale.data(), zero.data(), found.data());
      EXPECT_TRUE(same_bits(back, found)) << name;
      quantize(ctx, shape, x.data(), scale.data(), static_cast<const Q*>(nullptr), dst.data());
      EXPECT_TRUE(same_bits(without, dst)) << name;
    });
  }
}

TYPED_TEST(Quantize, OfFloat32) { check_both_ways<TypeParam, float>(); }
TYPED_TEST(Quantize, OfFloat64) { check_both_ways<TypeParam, double>(); }

TYPED_TEST(Quantize, OfIntegersThatFloat32DoesNotHold) {
  using Q = TypeParam;
  ThreadPool pool(1);
  const KernelContext ctx{Isa::kReference, &pool};
  const int32_t x[] = {INT32_MIN, -3, 5, 16777217, INT32_MAX};
  const float scale = 0x1p20f;
  std::vector<Q> expected, found(5);
  for (int32_t i : x) expected.push_back(expected_of<Q>(static_cast<float>(i), scale, Q(7)));
  const Q zero = 7;
  quantize(ctx, {.inner = 5}, x, &scale, &zero, found.data());
  EXPECT_TRUE(same_bits(expected, found));
}

TEST(Dequantize, DifferencesOfInt32AreExact) {
  ThreadPool pool(1);
  const KernelContext ctx{Isa::kReference, &pool};
  const int32_t x[] = {INT32_MIN, INT32_MAX, 3}, zero = INT32_MAX;
  const double scale = 1, infinite = INFINITY;
  std::vector<double> found(3);
  dequantize(ctx, {.inner = 3}, x, &scale, &zero, found.data());
  EXPECT_TRUE(same_bits(std::vector<double>{-4294967295.0, 0, 3.0 - 2147483647.0}, found));
  dequantize(ctx, {.inner = 3}, x, &infinite, &zero, found.data());
  EXPECT_TRUE(same_bits(std::vector<double>{-infinite, numerics::nan_f64(), -infinite}, found)) << "0 * inf";
}

TEST(DynamicScale, MapsTheRangeTo255) {
  const std::vector<float> x = {0, 2, -3, -2.5f, 1.34f, 0.5f};
  const Range<float> range = range_with_zero(6, x.data());
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 2);
  const DynamicScale<float> to = dynamic_scale(range);
  EXPECT_EQ(to.scale, 5.0f / 255);
  EXPECT_EQ(to.zero_point, 153);
  EXPECT_EQ(dynamic_scale(Range<double>{0, 255}).zero_point, 0);
  EXPECT_EQ(dynamic_scale(Range<double>{-255, 0}).zero_point, 255);
}

TEST(DynamicScale, OfNothingOfZerosAndOfWhatIsNotFinite) {
  const Range<float> nothing = range_with_zero<float>(0, nullptr);
  EXPECT_TRUE(nothing.low == 0 && nothing.high == 0);
  EXPECT_EQ(dynamic_scale(nothing).scale, 1);
  EXPECT_EQ(dynamic_scale(nothing).zero_point, 0);
  const float zeros[] = {-0.0f, 0.0f};
  const Range<float> zero = range_with_zero(2, zeros);
  EXPECT_FALSE(std::signbit(zero.low) || std::signbit(zero.high));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(dynamic_scale(Range<float>{0, tiny}).scale, 1) << "a scale that underflows";
  const float odd[] = {1, -std::numeric_limits<float>::quiet_NaN(), -2};
  const Range<float> nan = range_with_zero(3, odd);
  EXPECT_TRUE(same_bits(std::vector<float>(2, numerics::nan_f32()), std::vector<float>{nan.low, nan.high}));
  EXPECT_TRUE(same_bits(std::vector<float>{numerics::nan_f32()}, std::vector<float>{dynamic_scale(nan).scale}));
  EXPECT_EQ(dynamic_scale(nan).zero_point, 0);
  EXPECT_EQ(dynamic_scale(Range<float>{-INFINITY, INFINITY}).zero_point, 0);
}

}  // namespace
}  // namespace isobit::kernels
