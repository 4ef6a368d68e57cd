// Images sampled at the points of a grid (ONNX GridSample-22). Plain loops, compiled once for the baseline machine.
// Determinism class: ordered-1.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/context.h"
#include "isobit/kernels/sampling/near_places.h"

namespace isobit::kernels {

// Where a coordinate g of the grid lies along an axis: x below.
double grid_place(double g, int64_t extent, bool align_corners);

// src [n, c, image ..], grid [n, points, rank], dst [n, c, points]; rank is the number of the image's axes. The point's
// coordinate g of axis a is its number rank - 1 - a. It lies, in float64 and each operation rounded, at
//   x = ((g + 1) / 2) * (extent - 1) with align_corners, else (((g + 1) * extent) - 1) / 2
// of the axis; dst = T(value_at) of its near places (near_places.h). Where some x is not finite, dst is NaN. NaN
// results are canonical. REQUIRES rank >= 1 and extents of 1 or more where there are points.
void grid_sample(const KernelContext&, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                 const PointRule& rule, const float* src, const float* grid, float* dst);
void grid_sample(const KernelContext&, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                 const PointRule& rule, const double* src, const double* grid, double* dst);

// What the image is given back of diff_dst [n, c, points]: diff_src [n, c, image ..] is give_back (give_back.h) of the
// points of its image in ascending order, and of the combinations of near places of each (for_each_place). A point that
// is not finite gives nothing back.
void grid_sample_grad_src(const KernelContext&, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                          const PointRule& rule, const float* grid, const float* diff_dst, float* diff_src);
void grid_sample_grad_src(const KernelContext&, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                          const PointRule& rule, const double* grid, const double* diff_dst, double* diff_src);

// diff_grid [n, points, rank]: of axis a in float64, v = +0, plus diff_dst * slope_at (near_places.h) of the channels
// in ascending order, each product and each sum rounded; diff_grid = T(v * s) with s = (extent - 1) / 2 with
// align_corners, else extent / 2. Of a point that is not finite it is NaN. NaN results are canonical.
void grid_sample_grad_grid(const KernelContext&, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                           const PointRule& rule, const float* src, const float* grid, const float* diff_dst,
                           float* diff_grid);
void grid_sample_grad_grid(const KernelContext&, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                           const PointRule& rule, const double* src, const double* grid, const double* diff_dst,
                           double* diff_grid);

}  // namespace isobit::kernels
