// Grids for grid_sample.h from affine maps (ONNX AffineGrid-20). Determinism class: ordered-1.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// theta [n, rank, rank + 1], dst [n, image .., rank]; rank is the number of the image's axes. Number i of the point at
// (p_0, .., p_rank-1) is T(v): in float64, v = +0, plus theta[i, j] * b(p_a) with a = rank - 1 - j for j = 0 .. rank -
// 1, plus theta[i, rank], each product and each sum rounded. b(p) = (2 p) / (extent - 1) - 1 with align_corners (0 for
// an extent of 1), else (2 p + 1) / extent - 1. NaN results are canonical.
void affine_grid(const KernelContext&, int64_t n, std::span<const int64_t> image, bool align_corners,
                 const float* theta, float* dst);
void affine_grid(const KernelContext&, int64_t n, std::span<const int64_t> image, bool align_corners,
                 const double* theta, double* dst);

// The one number that this row of theta, rank + 1 elements, makes of a point, which is numbered in row-major order.
// T: float, double.
template <class T>
T affine_number(std::span<const int64_t> image, bool align_corners, const T* row, int64_t point);

}  // namespace isobit::kernels
