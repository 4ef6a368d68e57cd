#include "isobit/kernels/sampling/give_back.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "isobit/kernels/detection/regions.h"
#include "isobit/kernels/sampling/deform.h"
#include "isobit/kernels/sampling/grid_sample.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::random_values;
using testing::Values;

TEST(GiveBack, AddsWeightedPartsOfEachPlaceOnce) {
  // 2^24 + 1 - 2^24 is 1 only where the sum is rounded once.
  const std::vector<GivenBack> parts = {{2, 0, 1}, {0, 1, 0.5}, {2, 1, 1}, {2, 2, -1}};
  const std::vector<float> diff = {0x1p24f, 1, 0x1p24f, 8, 2, 4};
  std::vector<float> src(6);
  ThreadPool pool(1);
  give_back({best_isa(), &pool}, parts, 2, 3, 3, diff.data(), src.data());
  EXPECT_EQ(src, (std::vector<float>{0.5, 0, 1, 1, 0, 6}));
  give_back({best_isa(), &pool}, {}, 2, 3, 3, diff.data(), src.data());
  EXPECT_TRUE(testing::same_bits(std::vector<float>(6, 0), src));
}

// Sampling is linear in the image: sum(dst * diff) = sum(src * diff_src), here in float64.
template <class Sample, class Give>
void expect_adjoint(size_t src_size, size_t dst_size, Sample sample, Give give) {
  const auto src = random_values<double>(src_size, Values::kUnit, 1);
  const auto diff = random_values<double>(dst_size, Values::kUnit, 2);
  std::vector<double> dst(dst_size), diff_src(src_size, std::nan(""));
  sample(src.data(), dst.data());
  give(diff.data(), diff_src.data());
  double left = 0, right = 0;
  for (size_t i = 0; i < dst_size; ++i) left += dst[i] * diff[i];
  for (size_t i = 0; i < src_size; ++i) right += src[i] * diff_src[i];
  EXPECT_NEAR(left, right, 1e-11 * (1 + std::abs(left)));
}

TEST(GiveBack, IsTheAdjointOfGridSample) {
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<int64_t> image = {4, 3, 2};
  const auto grid = random_values<double>(2 * 30 * 3, Values::kUnit, 3);
  for (Interpolation mode : {Interpolation::kNearest, Interpolation::kLinear, Interpolation::kCubic}) {
    for (Padding padding : {Padding::kZeros, Padding::kBorder, Padding::kReflection}) {
      for (bool corners : {false, true}) {
        const PointRule rule{.mode = mode, .padding = padding, .align_corners = corners};
        expect_adjoint(
            2 * 3 * 24, 2 * 3 * 30,
            [&](const double* src, double* dst) { grid_sample(ctx, 2, 3, image, 30, rule, src, grid.data(), dst); },
            [&](const double* diff, double* src) {
              grid_sample_grad_src(ctx, 2, 3, image, 30, rule, grid.data(), diff, src);
            });
      }
    }
  }
}

TEST(GiveBack, IsTheAdjointOfDeformedColumnsAndOfRegions) {
  ThreadPool pool(2);
  const KernelContext ctx{best_isa(), &pool};
  DeformShape s;
  s.n = 2, s.c = 4, s.groups = 2;
  s.rows = {.in = 5, .out = 3, .size = 2, .stride = 2, .dilation = 1, .pad = 1};
  s.columns = {.in = 6, .out = 4, .size = 3, .stride = 1, .dilation = 1, .pad = 0};
  const auto offset = random_values<double>(static_cast<size_t>(2 * 2 * 2 * s.taps() * s.windows()), Values::kUnit, 3);
  expect_adjoint(
      2 * 4 * 30, static_cast<size_t>(2 * 4 * s.taps() * s.windows()),
      [&](const double* src, double* dst) { deformed_columns(ctx, s, src, offset.data(), nullptr, dst); },
      [&](const double* diff, double* src) { deformed_columns_grad_src(ctx, s, offset.data(), diff, src); });
  const RegionShape r{.c = 3, .h = 5, .w = 6, .regions = 4, .pooled_h = 2, .pooled_w = 3};
  const std::vector<double> rois = {0.3, 1, 4.5, 3, -3, -2, 9, 9, 1, 1, 1, 1, 2, 0, 3, std::nan("")};
  const std::vector<int64_t> images = {1, 0, 1, 0};
  for (const AlignRule& rule : {AlignRule{.sampling_ratio = 2}, AlignRule{.half_pixel = false, .spatial_scale = 0.7}}) {
    expect_adjoint(
        2 * 3 * 30, 4 * 3 * 6,
        [&](const double* src, double* dst) {
          roi_align(ctx, r, rule, src, rois.data(), images.data(), dst);
          for (int64_t i = 3 * 3 * 6; i < 4 * 3 * 6; ++i) dst[i] = 0;  // the region that is no number
        },
        [&](const double* diff, double* src) {
          roi_align_grad(ctx, r, rule, 2, rois.data(), images.data(), diff, src);
        });
  }
}

TEST(GiveBack, TheLargestOfARegionGetsWhatItGave) {
  const RegionShape r{.h = 2, .w = 3, .regions = 3, .pooled_h = 1, .pooled_w = 1};
  const std::vector<double> src = {1, 9, 2, 9, 4, 5}, diff = {1, 10, 100};
  // The whole plane, twice, of which the first 9 is the largest; a region of no image.
  const std::vector<double> rois = {0, 0, 0, 2, 1, 0, 0, 0, 2, 1, 5, 0, 0, 2, 1};
  std::vector<double> diff_src(6, 9);
  ThreadPool pool(1);
  max_roi_pool_grad({best_isa(), &pool}, r, 1, 1, src.data(), rois.data(), diff.data(), diff_src.data());
  EXPECT_EQ(diff_src, (std::vector<double>{0, 11, 0, 0, 0, 0}));
}

// What grids and offsets change, against central differences.
TEST(GiveBack, SlopesAreThoseOfTheSamples) {
  constexpr double kStep = 1e-6;
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<int64_t> image = {4, 5};
  const auto src = random_values<double>(2 * 20, Values::kUnit, 1);
  const auto diff = random_values<double>(2 * 12, Values::kUnit, 2);
  const auto grid = random_values<double>(12 * 2, Values::kUnit, 3);
  const auto loss = [&](const PointRule& rule, const std::vector<double>& at) {
    std::vector<double> dst(diff.size());
    grid_sample(ctx, 1, 2, image, 12, rule, src.data(), at.data(), dst.data());
    double sum = 0;
    for (size_t i = 0; i < dst.size(); ++i) sum += dst[i] * diff[i];
    return sum;
  };
  for (Interpolation mode : {Interpolation::kNearest, Interpolation::kLinear, Interpolation::kCubic}) {
    for (Padding padding : {Padding::kZeros, Padding::kBorder, Padding::kReflection}) {
      for (bool corners : {false, true}) {
        const PointRule rule{.mode = mode, .padding = padding, .align_corners = corners};
        std::vector<double> slopes(grid.size());
        grid_sample_grad_grid(ctx, 1, 2, image, 12, rule, src.data(), grid.data(), diff.data(), slopes.data());
        for (size_t i = 0; i < grid.size(); ++i) {
          std::vector<double> above = grid, below = grid;
          above[i] += kStep, below[i] -= kStep;
          EXPECT_NEAR(slopes[i], (loss(rule, above) - loss(rule, below)) / (2 * kStep), 1e-7) << i;
        }
      }
    }
  }
}

TEST(GiveBack, APointThatIsNotFiniteHasNoSlopeAndGivesNothingBack) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<int64_t> image = {2, 2};
  const std::vector<float> src = {1, 2, 3, 4}, grid = {0, std::numeric_limits<float>::infinity()}, diff = {1};
  std::vector<float> diff_src(4, 9), diff_grid(2);
  grid_sample_grad_src(ctx, 1, 1, image, 1, {}, grid.data(), diff.data(), diff_src.data());
  grid_sample_grad_grid(ctx, 1, 1, image, 1, {}, src.data(), grid.data(), diff.data(), diff_grid.data());
  EXPECT_EQ(diff_src, (std::vector<float>{0, 0, 0, 0}));
  for (float x : diff_grid) EXPECT_EQ(numerics::bits_of(x), numerics::bits_of(numerics::nan_f32()));
}

TEST(GiveBack, IsTheSameEverywhere) {
  DeformShape s;
  s.n = 2, s.c = 4, s.groups = 2;
  s.rows = {.in = 5, .out = 3, .size = 2, .stride = 2, .dilation = 1, .pad = 1};
  s.columns = {.in = 6, .out = 4, .size = 3, .stride = 1, .dilation = 1, .pad = 0};
  const std::vector<int64_t> image = {5, 6};
  const auto src = random_values<float>(2 * 4 * 30, Values::kSpecial, 1);
  auto offset = random_values<float>(static_cast<size_t>(2 * 2 * 2 * s.taps() * s.windows()), Values::kUnit, 2);
  const auto diff = random_values<float>(static_cast<size_t>(2 * 4 * s.taps() * s.windows()), Values::kSpecial, 3);
  const std::vector<float> rois = {0.3f, 1, 4.5f, 3, -3, -2, 9, 9, 1, 1, 1, 1};
  const std::vector<int64_t> images = {1, 0, 1};
  offset[5] = std::numeric_limits<float>::infinity();
  expect_same_everywhere("given back", [&](const KernelContext& ctx) {
    std::vector<std::vector<float>> results(5, std::vector<float>(src.size()));
    results[1].resize(offset.size());
    results[3].resize(2 * 40 * 2);
    deformed_columns_grad_src(ctx, s, offset.data(), diff.data(), results[0].data());
    deformed_columns_grad_offset(ctx, s, src.data(), offset.data(), diff.data(), results[1].data());
    const PointRule rule{.mode = Interpolation::kCubic, .padding = Padding::kReflection};
    grid_sample_grad_src(ctx, 2, 4, image, 40, rule, offset.data(), diff.data(), results[2].data());
    grid_sample_grad_grid(ctx, 2, 4, image, 40, rule, src.data(), offset.data(), diff.data(), results[3].data());
    const RegionShape r{.c = 4, .h = 5, .w = 6, .regions = 3, .pooled_h = 2, .pooled_w = 3};
    roi_align_grad(ctx, r, {}, 2, rois.data(), images.data(), diff.data(), results[4].data());
    return results;
  });
}

}  // namespace
}  // namespace isobit::kernels
