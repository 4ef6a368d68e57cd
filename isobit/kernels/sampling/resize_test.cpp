#include "isobit/kernels/sampling/resize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isobit/kernels/sampling/sample.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

std::vector<double> resized(std::vector<double> src, int64_t out, double scale, const ResizeRule& rule,
                            double begin = 0, double end = 1) {
  ThreadPool pool(1);
  const auto in = static_cast<int64_t>(src.size());
  const AxisTaps taps = resize_taps(
      {.in = in, .out = out, .scale = scale, .length = scale * static_cast<double>(in), .begin = begin, .end = end},
      rule);
  std::vector<double> dst(static_cast<size_t>(out));
  sample({best_isa(), &pool}, {&taps, 1}, -7, src.data(), dst.data());
  return dst;
}

void expect_near(const std::vector<double>& expected, const std::vector<double>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], found[i], 1e-12) << i;
}

ResizeRule linear(Coordinates coordinates) { return {.mode = Interpolation::kLinear, .coordinates = coordinates}; }
ResizeRule nearest(Coordinates coordinates, Nearest which) { return {.coordinates = coordinates, .nearest = which}; }

// Worked by hand: 4 places made into 8, and into 2.
TEST(Resize, CoordinatesAreThoseOfTheirMode) {
  const std::vector<double> src = {0, 10, 20, 30};
  expect_near({0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30}, resized(src, 8, 2, linear(Coordinates::kHalfPixel)));
  expect_near({5, 25}, resized(src, 2, 0.5, linear(Coordinates::kHalfPixel)));
  expect_near({0, 5, 10, 15, 20, 25, 30, 30}, resized(src, 8, 2, linear(Coordinates::kAsymmetric)));
  expect_near({0, 10, 20, 30}, resized(src, 4, 1, linear(Coordinates::kAlignCorners)));
  expect_near({0, 5, 10, 15, 20, 25, 30}, resized(src, 7, 1.75, linear(Coordinates::kAlignCorners)));
  expect_near({0}, resized(src, 1, 0.25, linear(Coordinates::kAlignCorners)));
  expect_near({0}, resized(src, 1, 0.25, linear(Coordinates::kPytorchHalfPixel)));
  expect_near({15}, resized(src, 1, 0.25, linear(Coordinates::kHalfPixel)));
  // 4 * 0.6 is 2.4: the two places lie around the middle.
  expect_near({15 - 10 / 0.6 / 2, 15 + 10 / 0.6 / 2}, resized(src, 2, 0.6, linear(Coordinates::kHalfPixelSymmetric)));
}

TEST(Resize, APartOfAnAxisIsCroppedAndWhatIsBeyondItIsOutside) {
  const std::vector<double> src = {0, 10, 20, 30};
  const ResizeRule rule = linear(Coordinates::kCropAndResize);
  expect_near({7.5, 15, 22.5}, resized(src, 3, 0.75, rule, 0.25, 0.75));
  expect_near({15}, resized(src, 1, 0.25, rule, 0.25, 0.75));
  expect_near({-7, 15, -7}, resized(src, 3, 0.75, rule, -0.5, 1.5));
}

TEST(Resize, NearestRoundsAsItIsTold) {
  const std::vector<double> src = {0, 1, 2, 3};
  // At 0, 0.5, 1, ... 3.5
  expect_near({0, 0, 1, 1, 2, 2, 3, 3}, resized(src, 8, 2, nearest(Coordinates::kAsymmetric, Nearest::kFloor)));
  expect_near({0, 1, 1, 2, 2, 3, 3, 3}, resized(src, 8, 2, nearest(Coordinates::kAsymmetric, Nearest::kCeil)));
  expect_near({0, 0, 1, 1, 2, 2, 3, 3},
              resized(src, 8, 2, nearest(Coordinates::kAsymmetric, Nearest::kRoundPreferFloor)));
  expect_near({0, 1, 1, 2, 2, 3, 3, 3},
              resized(src, 8, 2, nearest(Coordinates::kAsymmetric, Nearest::kRoundPreferCeil)));
}

// Cubic interpolation with a = -0.75 keeps straight lines away from the borders; the weights of any a add up to 1.
TEST(Resize, CubicKeepsStraightLines) {
  const std::vector<double> src = {0, 1, 2, 3, 4, 5, 6, 7};
  for (double a : {-0.5, -0.75}) {
    const ResizeRule rule{.mode = Interpolation::kCubic, .coordinates = Coordinates::kAsymmetric, .cubic_a = a};
    const std::vector<double> found = resized(src, 16, 2, rule), ones = resized(std::vector<double>(8, 1), 16, 2, rule);
    for (size_t o = 2; o < 11; ++o) EXPECT_NEAR(found[o], static_cast<double>(o) / 2, a == -0.5 ? 1e-12 : 0.05) << o;
    for (double x : ones) EXPECT_NEAR(x, 1, 1e-14);
  }
}

TEST(Resize, ExcludingWhatIsOutsideKeepsTheSumOfWeights) {
  for (Interpolation mode : {Interpolation::kLinear, Interpolation::kCubic}) {
    for (bool antialias : {false, true}) {
      const ResizeRule rule{.mode = mode, .antialias = antialias, .exclude_outside = true};
      for (double x : resized(std::vector<double>(5, 1), 3, 0.6, rule)) EXPECT_NEAR(x, 1, 1e-14);
      const AxisTaps taps = resize_taps({.in = 5, .out = 3, .scale = 0.6, .length = 3}, rule);
      for (int64_t o = 0; o < 3; ++o) {
        for (size_t i = 1; i < taps.of(o).size(); ++i) EXPECT_GT(taps.of(o)[i].place, taps.of(o)[i - 1].place);
      }
    }
  }
}

// Shrinking by 4 with a filter four times as wide: each place is the mean of those under a triangle.
TEST(Resize, AntialiasAveragesWhatItLeavesOut) {
  const ResizeRule rule{.mode = Interpolation::kLinear, .antialias = true};
  const AxisTaps taps = resize_taps({.in = 16, .out = 4, .scale = 0.25, .length = 4}, rule);
  ASSERT_EQ(taps.of(1).size(), 8U);
  double sum = 0, mean = 0;
  for (const WeightedPlace& tap : taps.of(1)) {
    sum += tap.weight;
    mean += tap.weight * static_cast<double>(tap.place);
    EXPECT_GT(tap.weight, 0);
  }
  EXPECT_NEAR(sum, 1, 1e-15);
  EXPECT_NEAR(mean, 5.5, 1e-14);  // (1 + 0.5) / 0.25 - 0.5
}

TEST(Resize, AnAxisThatStaysIsTheIdentity) {
  for (Coordinates c : {Coordinates::kHalfPixel, Coordinates::kAlignCorners, Coordinates::kAsymmetric}) {
    const AxisTaps taps = resize_taps({.in = 9, .out = 9, .scale = 1, .length = 9}, linear(c));
    EXPECT_TRUE(taps.is_identity());
    EXPECT_EQ(taps.out(), 9);
  }
}

TEST(Resize, PlacesFarBeyondTheSourceAreItsEnds) {
  const AxisTaps taps =
      resize_taps({.in = 3, .out = 2, .scale = 1e-6, .length = 1.5}, linear(Coordinates::kAsymmetric));
  EXPECT_EQ(taps.of(1).back().place, 2);
}

std::vector<AxisTaps> some_axes(uint64_t variant) {
  const ResizeRule rule{.mode = variant % 2 == 0 ? Interpolation::kLinear : Interpolation::kCubic};
  const AxisTaps up = resize_taps({.in = 5, .out = 8, .scale = 1.6, .length = 8}, rule);
  const AxisTaps down = resize_taps({.in = 9, .out = 2, .scale = 2.0 / 9, .length = 2}, rule);
  const AxisTaps crop = resize_taps({.in = 4, .out = 5, .scale = 1.25, .length = 5, .begin = -0.2, .end = 0.9},
                                    {.mode = rule.mode, .coordinates = Coordinates::kCropAndResize});
  switch (variant / 2) {
    case 0:
      return {AxisTaps::identity(3), up, down};
    case 1:
      return {down, AxisTaps::identity(2), crop};
    case 2:
      return {transposed(up), transposed(down)};
    case 3:
      return {crop, up, AxisTaps::identity(3)};
    default:
      return {up};
  }
}

// The definition, one place after another: r(x) is summed anew for every tap.
template <class T>
std::vector<T> sampled(const std::vector<AxisTaps>& axes, const std::vector<T>& src, double outside) {
  int64_t outs = 1;
  for (const AxisTaps& axis : axes) outs *= axis.out();
  std::vector<T> dst;
  for (int64_t o = 0; o < outs; ++o) {
    std::vector<std::vector<WeightedPlace>> taps(axes.size());
    int64_t rest = o;
    bool inside = true;
    for (size_t a = axes.size(); a-- > 0; rest /= axes[a].out()) {
      const int64_t at = rest % axes[a].out();
      if (axes[a].is_identity()) {
        taps[a] = {{at, 1}};
      } else {
        taps[a].assign(axes[a].of(at).begin(), axes[a].of(at).end());
      }
      inside = inside && !taps[a].empty();
    }
    double v = 0;
    for (const WeightedPlace& last : taps.back()) {
      std::vector<WeightedPlace> lines = {{0, 1}};
      for (size_t a = 0; a + 1 < axes.size(); ++a) {
        std::vector<WeightedPlace> longer;
        for (const WeightedPlace& line : lines) {
          for (const WeightedPlace& tap : taps[a]) {
            longer.push_back({line.place * axes[a].in() + tap.place, line.weight * tap.weight});
          }
        }
        lines = longer;
      }
      double r = 0;
      for (const WeightedPlace& line : lines) {
        r += line.weight * static_cast<double>(src[static_cast<size_t>(line.place * axes.back().in() + last.place)]);
      }
      v += last.weight * r;
    }
    dst.push_back(numerics::canonical(static_cast<T>(inside ? v : outside)));
  }
  return dst;
}

template <class T>
class SampleTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SampleTest, Types);

TYPED_TEST(SampleTest, IsTheWrittenSequenceEverywhere) {
  using T = TypeParam;
  for (uint64_t variant = 0; variant < 10; ++variant) {
    const std::vector<AxisTaps> axes = some_axes(variant);
    size_t ins = 1, outs = 1;
    for (const AxisTaps& axis : axes) {
      ins *= static_cast<size_t>(axis.in());
      outs *= static_cast<size_t>(axis.out());
    }
    for (Values kind : {Values::kUnit, Values::kSpecial}) {
      const auto src = random_values<T>(ins, kind, variant + 1);
      const std::vector<T> expected = sampled(axes, src, 0.1);
      testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
        std::vector<T> dst(outs, T(9));
        sample(ctx, axes, 0.1, src.data(), dst.data());
        EXPECT_TRUE(testing::same_bits(expected, dst)) << what << " variant " << variant;
      });
    }
  }
}

// <A x, y> = <x, A' y>
TEST(Sample, TheTransposedAxesAreTheAdjoint) {
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  for (uint64_t variant = 0; variant < 10; ++variant) {
    const std::vector<AxisTaps> axes = some_axes(variant);
    std::vector<AxisTaps> adjoint;
    size_t ins = 1, outs = 1;
    for (const AxisTaps& axis : axes) {
      adjoint.push_back(transposed(axis));
      ins *= static_cast<size_t>(axis.in());
      outs *= static_cast<size_t>(axis.out());
    }
    const auto x = random_values<double>(ins, Values::kUnit, 1), y = random_values<double>(outs, Values::kUnit, 2);
    std::vector<double> ax(outs), ay(ins);
    sample(ctx, axes, 0, x.data(), ax.data());
    sample(ctx, adjoint, 0, y.data(), ay.data());
    double left = 0, right = 0;
    for (size_t i = 0; i < outs; ++i) left += ax[i] * y[i];
    for (size_t i = 0; i < ins; ++i) right += ay[i] * x[i];
    EXPECT_NEAR(left, right, 1e-12);
  }
}

TEST(Sample, PlacesAreTakenWithTheirBits) {
  ThreadPool pool(3);
  const KernelContext ctx{best_isa(), &pool};
  const AxisTaps rows = resize_taps({.in = 2, .out = 3, .scale = 1.5, .length = 3}, {});
  const AxisTaps columns = resize_taps({.in = 2, .out = 3, .scale = 1.5, .length = 3, .begin = 0, .end = 1.5},
                                       {.coordinates = Coordinates::kCropAndResize});
  const auto check = [&]<class E>(E) {
    const std::vector<AxisTaps> axes = {rows, columns};
    const std::vector<E> src = {E(1), E(2), E(3), E(4)};
    const E outside = E(9);
    std::vector<E> dst(9);
    take_places(ctx, sizeof(E), axes, &outside, src.data(), dst.data());
    // Rows at -1/6, 1/2 and 7/6; columns at 0, 3/4 and 3/2, which is outside.
    EXPECT_EQ(dst, (std::vector<E>{E(1), E(2), E(9), E(1), E(2), E(9), E(3), E(4), E(9)}));
  };
  check(uint8_t{});
  check(int16_t{});
  check(float{});
  check(int64_t{});
}

}  // namespace
}  // namespace isobit::kernels
