// Windows laid out as columns, each tap moved by an offset of its own (the sampling half of ONNX DeformConv-22; the
// other half is a matrix product). Determinism class: ordered-1.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels {

struct DeformShape {
  int64_t n = 1, c = 1;
  int64_t groups = 1;  // of channels that share offsets and mask; divides c
  SlidingAxis rows, columns;

  int64_t taps() const { return rows.size * columns.size; }
  int64_t windows() const { return rows.out * columns.out; }
};

// src [n, c, rows.in, columns.in], offset [n, groups, taps, 2, windows] (down, then across), mask [n, groups, taps,
// windows] or null (ones), matrix [n, c, taps, windows]. The element of a tap at place (y, x) = rows.at(), columns.at()
// of its window lies, in float64, at (y + offset, x + offset); the matrix has T(value_at * mask) of the near places
// (near_places.h: kLinear, kZeros), each operation rounded. Where the place is not finite it has NaN. NaN results are
// canonical. REQUIRES extents of 1 or more where there are windows.
void deformed_columns(const KernelContext&, const DeformShape& shape, const float* src, const float* offset,
                      const float* mask, float* matrix);
void deformed_columns(const KernelContext&, const DeformShape& shape, const double* src, const double* offset,
                      const double* mask, double* matrix);

// What the source is given back of diff_matrix [n, c, taps, windows] where the mask is ones: diff_src is give_back
// (give_back.h), for the channels of a group in an image, of the taps in ascending order, of the windows of each, and
// of the combinations of near places of each window (for_each_place). A place that is not finite gives nothing back.
void deformed_columns_grad_src(const KernelContext&, const DeformShape& shape, const float* offset,
                               const float* diff_matrix, float* diff_src);
void deformed_columns_grad_src(const KernelContext&, const DeformShape& shape, const double* offset,
                               const double* diff_matrix, double* diff_src);

// diff_offset, laid out as offset, where the mask is ones: T(v) with v = +0, plus in float64 diff_matrix * slope_at
// (near_places.h) of the channels of the group in ascending order, each product and each sum rounded. Where the place
// is not finite it is NaN. NaN results are canonical.
void deformed_columns_grad_offset(const KernelContext&, const DeformShape& shape, const float* src, const float* offset,
                                  const float* diff_matrix, float* diff_offset);
void deformed_columns_grad_offset(const KernelContext&, const DeformShape& shape, const double* src,
                                  const double* offset, const double* diff_matrix, double* diff_offset);

}  // namespace isobit::kernels
