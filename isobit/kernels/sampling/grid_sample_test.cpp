#include "isobit/kernels/sampling/grid_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isobit/kernels/sampling/affine_grid.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

// Places and weights around x, as one list.
std::vector<double> around(double x, int64_t extent, const PointRule& rule) {
  std::vector<double> found;
  const NearPlaces places(x, extent, rule);
  for (const WeightedPlace& tap : places.taps()) {
    found.push_back(static_cast<double>(tap.place));
    found.push_back(tap.weight);
  }
  return found;
}

using List = std::vector<double>;

TEST(NearPlaces, ZerosLeaveOutWhatIsOutside) {
  const PointRule linear;
  EXPECT_EQ(around(1.25, 4, linear), (List{1, 0.75, 2, 0.25}));
  EXPECT_EQ(around(-0.25, 4, linear), (List{0, 0.75}));
  EXPECT_EQ(around(3.25, 4, linear), (List{3, 0.75}));
  EXPECT_EQ(around(-1, 4, linear), (List{0, 0}));
  EXPECT_EQ(around(-1.5, 4, linear), List{});
  EXPECT_EQ(around(1e300, 4, linear), List{});
}

TEST(NearPlaces, TheBorderIsTheNearestPlace) {
  const PointRule border{.padding = Padding::kBorder};
  EXPECT_EQ(around(-0.25, 4, border), (List{0, 0.25, 0, 0.75}));
  EXPECT_EQ(around(-9, 4, border), (List{0, 1, 1, 0}));
  EXPECT_EQ(around(1e300, 4, border), (List{3, 1, 3, 0}));
}

TEST(NearPlaces, ReflectionMirrorsAtTheBorders) {
  const PointRule inner{.padding = Padding::kReflection, .align_corners = true}, outer{.padding = Padding::kReflection};
  for (int k = -3; k <= 3; ++k) {
    // Mirrored at 0 and 3 an image of four places comes again after 6; mirrored half a place beyond them after 8.
    EXPECT_EQ(around(1.25 + 6 * k, 4, inner), around(1.25, 4, inner)) << k;
    EXPECT_EQ(around(-1.25 + 6 * k, 4, inner), around(1.25, 4, inner)) << k;
    EXPECT_EQ(around(1.25 + 8 * k, 4, outer), around(1.25, 4, outer)) << k;
    EXPECT_EQ(around(-2.25 + 8 * k, 4, outer), around(1.25, 4, outer)) << k;
  }
  EXPECT_EQ(around(5, 1, inner), (List{0, 1, 0, 0}));  // of one place every place is that one
}

// Far from the image, differences of infinities are no numbers; whatever comes of them is a place of the image.
TEST(NearPlaces, NoPlaceIsOutsideHoweverFarThePointIs) {
  for (const auto padding : {Padding::kZeros, Padding::kBorder, Padding::kReflection}) {
    for (const auto mode : {Interpolation::kNearest, Interpolation::kLinear, Interpolation::kCubic}) {
      const PointRule rule{.mode = mode, .padding = padding};
      for (const double x :
           {1e308, -1e308, 1.7e308, -1.7e308, 1e19, -1e19, double(HUGE_VAL), -double(HUGE_VAL), std::nan("")}) {
        for (const int64_t extent : {int64_t{1}, int64_t{3}, int64_t{1} << 40}) {
          const NearPlaces places(x, extent, rule);
          for (const WeightedPlace& tap : places.taps()) {
            EXPECT_GE(tap.place, 0) << x;
            EXPECT_LT(tap.place, extent) << x;
          }
        }
      }
    }
  }
}

TEST(NearPlaces, NearestTakesTheEvenOneOfTwo) {
  const PointRule nearest{.mode = Interpolation::kNearest};
  EXPECT_EQ(around(0.5, 4, nearest), (List{0, 1}));
  EXPECT_EQ(around(1.5, 4, nearest), (List{2, 1}));
  EXPECT_EQ(around(2.5, 4, nearest), (List{2, 1}));
  EXPECT_EQ(around(-0.5, 4, nearest), (List{0, 1}));
  EXPECT_EQ(around(2.6, 4, nearest), (List{3, 1}));
  EXPECT_EQ(around(3.5, 4, nearest), List{});
}

TEST(NearPlaces, CubicWeightsAddUpToOne) {
  const PointRule cubic{.mode = Interpolation::kCubic};
  for (double x : {1.0, 1.1, 1.5, 1.9}) {
    const NearPlaces places(x, 5, cubic);
    double sum = 0;
    for (const WeightedPlace& tap : places.taps()) sum += tap.weight;
    EXPECT_NEAR(sum, 1, 1e-14);
  }
  EXPECT_EQ(around(1, 4, cubic), (List{0, 0, 1, 1, 2, 0, 3, 0}));
}

TEST(NearPlaces, WhatIsNotFiniteHasNone) {
  for (double x : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const NearPlaces places(x, 4, {});
    EXPECT_FALSE(places.is_finite());
    EXPECT_TRUE(places.taps().empty());
  }
}

// Points at the centres of places are the places.
TEST(GridSample, TheIdentityGridGivesTheImage) {
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<int64_t> image = {3, 4, 2};
  const auto src = random_values<float>(2 * 2 * 24, Values::kUnit, 1);
  const std::vector<float> theta = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  for (bool corners : {false, true}) {
    std::vector<float> grid(2 * 24 * 3), dst(src.size());
    affine_grid(ctx, 2, image, corners, theta.data(), grid.data());
    for (Interpolation mode : {Interpolation::kNearest, Interpolation::kLinear, Interpolation::kCubic}) {
      grid_sample(ctx, 2, 2, image, 24, {.mode = mode, .padding = Padding::kBorder, .align_corners = corners},
                  src.data(), grid.data(), dst.data());
      for (size_t i = 0; i < src.size(); ++i) EXPECT_NEAR(dst[i], src[i], 1e-5) << i;
    }
  }
}

TEST(GridSample, CoordinatesComeLastAxisFirst) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<int64_t> image = {2, 3};
  const std::vector<double> src = {1, 2, 3, 4, 5, 6};
  // Bottom left, top right, halfway between the first two columns in the middle of both rows, nowhere.
  const std::vector<double> grid = {-1, 1, 1, -1, -0.5, 0, std::nan(""), 0};
  std::vector<double> dst(4);
  grid_sample(ctx, 1, 1, image, 4, {.align_corners = true}, src.data(), grid.data(), dst.data());
  EXPECT_EQ(dst[0], 4);
  EXPECT_EQ(dst[1], 3);
  EXPECT_EQ(dst[2], 3);
  EXPECT_TRUE(numerics::bits_of(dst[3]) == numerics::kNanBitsF64);
}

TEST(AffineGrid, MapsTheCentresOfPlaces) {
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<int64_t> image = {1, 4};
  const std::vector<double> theta = {2, 0, 0.5, 0, 1, 0.25};
  std::vector<double> grid(8);
  affine_grid(ctx, 1, image, false, theta.data(), grid.data());
  EXPECT_EQ(grid, (List{-1, 0.25, 0, 0.25, 1, 0.25, 2, 0.25}));
  const std::vector<int64_t> line = {3, 1};
  std::vector<double> corners(6);
  affine_grid(ctx, 1, line, true, theta.data(), corners.data());
  EXPECT_EQ(corners, (List{0.5, -0.75, 0.5, 0.25, 0.5, 1.25}));  // one place lies in the middle
}

template <class T>
class SamplingTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SamplingTest, Types);

TYPED_TEST(SamplingTest, IsTheSameEverywhere) {
  using T = TypeParam;
  uint64_t seed = 0;
  for (const std::vector<int64_t>& image : {std::vector<int64_t>{5, 4}, std::vector<int64_t>{3, 2, 4}}) {
    const auto rank = static_cast<int64_t>(image.size());
    int64_t area = 1;
    for (int64_t d : image) area *= d;
    const auto src = random_values<T>(static_cast<size_t>(2 * 3 * area), Values::kSpecial, ++seed);
    auto grid = random_values<T>(static_cast<size_t>(2 * 50 * rank), Values::kUnit, ++seed);
    const auto theta = random_values<T>(static_cast<size_t>(2 * rank * (rank + 1)), Values::kUnit, ++seed);
    grid[7] = std::numeric_limits<T>::infinity();
    expect_same_everywhere("seed " + std::to_string(seed), [&](const KernelContext& ctx) {
      std::vector<std::vector<T>> results;
      for (Interpolation mode : {Interpolation::kNearest, Interpolation::kLinear, Interpolation::kCubic}) {
        for (Padding padding : {Padding::kZeros, Padding::kBorder, Padding::kReflection}) {
          for (bool corners : {false, true}) {
            results.emplace_back(static_cast<size_t>(2 * 3 * 50));
            grid_sample(ctx, 2, 3, image, 50, {.mode = mode, .padding = padding, .align_corners = corners}, src.data(),
                        grid.data(), results.back().data());
          }
        }
      }
      results.emplace_back(static_cast<size_t>(2 * area * rank));
      affine_grid(ctx, 2, image, true, theta.data(), results.back().data());
      return results;
    });
  }
}

}  // namespace
}  // namespace isobit::kernels
