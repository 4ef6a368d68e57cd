// Regions of images made into small images of one size (ONNX RoiAlign-22, MaxRoiPool-22). Plain loops, compiled once
// for the baseline machine. Everything but the elements is computed in float64, each operation rounded in the order
// written. NaN results are canonical. Determinism class: ordered-1.
//
// src [n, c, h, w], dst [regions, c, pooled_h, pooled_w]. REQUIRES h, w, pooled_h, pooled_w >= 1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

struct RegionShape {
  int64_t c = 1, h = 1, w = 1;
  int64_t regions = 0, pooled_h = 1, pooled_w = 1;
};

struct AlignRule {
  bool max = false;        // the largest of the samples in place of their mean
  bool half_pixel = true;  // places lie at the centres of pixels
  int64_t sampling_ratio = 0;
  double spatial_scale = 1;
};

// REQUIRES images in [0, n). Region r is rois[r] = (x1, y1, x2, y2) of image images[r]. Along an axis, with half = 0.5
// or 0 (half_pixel):
//   start = x1 * scale - half, extent = (x2 * scale - half) - start, without half_pixel at least 1;
//   bin = extent / pooled; samples = sampling_ratio, or where that is 0 bin rounded up, from 0 to 1024;
//   sample i of bin p: x = (start + p * bin) + ((i + 0.5) * bin) / samples. x < -1 or x > w: outside. Else x is at
//   least 0; low = x rounded down, high = low + 1, where low >= w - 1 both are w - 1 and x with them; l = x - low, u =
//   1 - l.
// A sample is ((u_y u_x) s(low, low), (u_y l_x) s(low, high), (l_y u_x) s(high, low), (l_y l_x) s(high, high)), each
// weight and product rounded. avg: dst = T(v / count): v = +0, plus (((first + second) + third) + fourth) of every
// sample that is not outside, row by row; count the number of all samples, at least 1. max: dst = T of the Max
// (reduce/reduce.h) of all four products of all samples, of which those outside are +0; +0 where there are no samples.
// A region that is not finite gives NaN.
void roi_align(const KernelContext&, const RegionShape& shape, const AlignRule& rule, const float* src,
               const float* rois, const int64_t* images, float* dst);
void roi_align(const KernelContext&, const RegionShape& shape, const AlignRule& rule, const double* src,
               const double* rois, const int64_t* images, double* dst);

// What the images [n, c, h, w] are given back of diff_dst [regions, c, pooled_h, pooled_w] where samples are averaged:
// diff_src is give_back (sampling/give_back.h) of the regions of its image in ascending order, of their bins, of the
// samples of each that are not outside, row by row, and of the four elements of each, with weights u_y u_x, u_y l_x,
// l_y u_x, l_y l_x, each divided by count. A region that is not finite gives nothing back. REQUIRES !rule.max.
void roi_align_grad(const KernelContext&, const RegionShape& shape, const AlignRule& rule, int64_t n, const float* rois,
                    const int64_t* images, const float* diff_dst, float* diff_src);
void roi_align_grad(const KernelContext&, const RegionShape& shape, const AlignRule& rule, int64_t n,
                    const double* rois, const int64_t* images, const double* diff_dst, double* diff_src);

// Region r is rois[r] = (image, x1, y1, x2, y2) of one of n images, the number rounded towards 0. Along an axis: begin
// = x1 * scale and end = x2 * scale, both rounded to the nearest integer, halves away from 0, and to within 2^40; size
// = max(end - begin + 1, 1). Bin p covers the places from begin + floor(p * size / pooled) to begin + ceil((p + 1) *
// size / pooled), the last one excluded, that are in the image. dst = Max (reduce/reduce.h) of them; +0 where there are
// none, and of a region that is not finite or of no image.
void max_roi_pool(const KernelContext&, const RegionShape& shape, int64_t n, double spatial_scale, const float* src,
                  const float* rois, float* dst);
void max_roi_pool(const KernelContext&, const RegionShape& shape, int64_t n, double spatial_scale, const double* src,
                  const double* rois, double* dst);

// What the images are given back of diff_dst [regions, c, pooled_h, pooled_w]: diff_src = Sum (reduce/reduce.h) of the
// diff_dst of the bins whose Max is at this place, the first one in row-major order among equals, by ascending region
// and bin. A bin that has no Max gives nothing back.
void max_roi_pool_grad(const KernelContext&, const RegionShape& shape, int64_t n, double spatial_scale,
                       const float* src, const float* rois, const float* diff_dst, float* diff_src);
void max_roi_pool_grad(const KernelContext&, const RegionShape& shape, int64_t n, double spatial_scale,
                       const double* src, const double* rois, const double* diff_dst, double* diff_src);

}  // namespace isobit::kernels
