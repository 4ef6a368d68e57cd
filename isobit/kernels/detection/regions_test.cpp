#include "isobit/kernels/detection/regions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::Values;

// An image whose element at (y, x) is 10 y + x: sampling it between its places gives 10 y + x as well.
std::vector<double> slope(int64_t h, int64_t w) {
  std::vector<double> image;
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) image.push_back(static_cast<double>(10 * y + x));
  }
  return image;
}

std::vector<double> aligned(const AlignRule& rule, std::vector<double> roi, int64_t pooled_h, int64_t pooled_w) {
  const RegionShape shape{.h = 8, .w = 8, .regions = 1, .pooled_h = pooled_h, .pooled_w = pooled_w};
  const std::vector<double> image = slope(8, 8);
  const int64_t first = 0;
  std::vector<double> dst(static_cast<size_t>(pooled_h * pooled_w));
  ThreadPool pool(1);
  roi_align({best_isa(), &pool}, shape, rule, image.data(), roi.data(), &first, dst.data());
  return dst;
}

void expect_near(const std::vector<double>& expected, const std::vector<double>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], found[i], 1e-12) << i;
}

// The mean over a bin of a slope is its value in the middle of the bin, however many samples there are.
TEST(RoiAlign, BinsAreMeansAroundTheirMiddles) {
  for (int64_t ratio : {0, 1, 3}) {
    // y from 1 to 5, x from 2 to 4, half a place lower with half_pixel.
    expect_near({22.5, 23.5, 42.5, 43.5}, aligned({.half_pixel = false, .sampling_ratio = ratio}, {2, 1, 4, 5}, 2, 2));
    expect_near({17, 18, 37, 38}, aligned({.sampling_ratio = ratio}, {2, 1, 4, 5}, 2, 2));
    expect_near({17, 18, 37, 38}, aligned({.sampling_ratio = ratio, .spatial_scale = 0.5}, {4, 2, 8, 10}, 2, 2));
  }
}

TEST(RoiAlign, ARegionWithoutExtentIsOnePlaceOrNothing) {
  expect_near({30.5}, aligned({.half_pixel = false, .sampling_ratio = 1}, {5, 2, 5, 2}, 1, 1));
  expect_near({0}, aligned({.sampling_ratio = 0}, {5, 2, 5, 2}, 1, 1));       // no samples
  expect_near({14}, aligned({.sampling_ratio = 2}, {5, 1.8, 4, 1.2}, 1, 1));  // turned round
}

TEST(RoiAlign, WhatIsOutsideAddsNothingAndCounts) {
  // Two samples across, at -2 and 2, two down, both above the first row and so at it.
  expect_near({1}, aligned({.half_pixel = false, .sampling_ratio = 2}, {-4, -0.9, 4, -0.1}, 1, 1));
}

TEST(RoiAlign, MaxTakesTheLargestWeightedElement) {
  // One sample at (0.5, 0.25): 0.375 * 0, 0.125 * 1, 0.375 * 10, 0.125 * 11.
  expect_near({3.75}, aligned({.max = true, .half_pixel = false, .sampling_ratio = 1}, {-0.25, 0, 0.75, 1}, 1, 1));
}

TEST(RoiAlign, ARegionThatIsNotFiniteIsNotANumber) {
  for (double x : {std::nan(""), HUGE_VAL}) EXPECT_TRUE(std::isnan(aligned({}, {0, 0, x, 2}, 1, 1)[0]));
  const std::vector<double> wide = aligned({}, {0, 0, 1e300, 2}, 1, 1);  // not as many samples as there are places
  EXPECT_TRUE(std::isfinite(wide[0]));
}

std::vector<double> pooled(std::vector<double> roi, double scale, int64_t pooled_h, int64_t pooled_w) {
  const RegionShape shape{.h = 8, .w = 8, .regions = 1, .pooled_h = pooled_h, .pooled_w = pooled_w};
  const std::vector<double> image = slope(8, 8);
  std::vector<double> dst(static_cast<size_t>(pooled_h * pooled_w));
  ThreadPool pool(1);
  max_roi_pool({best_isa(), &pool}, shape, 1, scale, image.data(), roi.data(), dst.data());
  return dst;
}

TEST(MaxRoiPool, BinsOverlapWhereTheyDoNotDivideTheRegion) {
  // Rows 1 to 3 and columns 2 to 5: rows {1, 2} and {2, 3}, columns {2, 3} and {4, 5}.
  EXPECT_EQ(pooled({0, 2, 1, 5, 3}, 1, 2, 2), (std::vector<double>{23, 25, 33, 35}));
  EXPECT_EQ(pooled({0, 4.4, 2.4, 9.6, 5.6}, 0.5, 2, 2), (std::vector<double>{23, 25, 33, 35}));
}

TEST(MaxRoiPool, WhatIsOutsideIsNothing) {
  EXPECT_EQ(pooled({0, 9, 9, 12, 12}, 1, 1, 1), std::vector<double>{0});
  EXPECT_EQ(pooled({0, -3, -3, 0, 1}, 1, 1, 1), std::vector<double>{10});
  for (double image : {-1.0, 1.0, std::nan("")})
    EXPECT_EQ(pooled({image, 2, 1, 5, 3}, 1, 1, 1), std::vector<double>{0});
  EXPECT_EQ(pooled({0, 2, 1, HUGE_VAL, 3}, 1, 1, 1), std::vector<double>{0});
  EXPECT_EQ(pooled({0, 5, 3, 2, 1}, 1, 1, 1), std::vector<double>{35});  // at least one place
}

TEST(Regions, AreTheSameEverywhere) {
  const RegionShape shape{.c = 3, .h = 6, .w = 7, .regions = 9, .pooled_h = 3, .pooled_w = 2};
  const auto src = random_values<float>(2 * 3 * 42, Values::kSpecial, 1);
  auto rois = random_values<float>(9 * 5, Values::kUnit, 2);
  for (size_t i = 0; i < rois.size(); ++i) rois[i] = i % 5 == 0 ? static_cast<float>(i % 2) : rois[i] * 4 + 3;
  const std::vector<int64_t> images = {0, 1, 1, 0, 0, 1, 0, 1, 1};
  testing::expect_same_everywhere("regions", [&](const KernelContext& ctx) {
    std::vector<std::vector<float>> results;
    for (bool max : {false, true}) {
      for (int64_t ratio : {0, 2}) {
        results.emplace_back(9 * 3 * 6);
        roi_align(ctx, shape, {.max = max, .sampling_ratio = ratio}, src.data(), rois.data(), images.data(),
                  results.back().data());
      }
    }
    results.emplace_back(9 * 3 * 6);
    max_roi_pool(ctx, shape, 2, 0.8, src.data(), rois.data(), results.back().data());
    return results;
  });
}

}  // namespace
}  // namespace isobit::kernels
