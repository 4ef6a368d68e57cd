// Determinants of square matrices, by elimination with row exchanges.
//
// In float64 for either type; every operation is rounded once, nothing is contracted. Of a matrix a [n, n]:
//
//   det = 1
//   for k = 0 .. n - 1:
//     p = the row among k .. n - 1 with the largest |a[p, k]|, the first one among equals
//     a[p, k] = 0: the determinant is +0
//     p is not k: rows p and k change places, det = -det
//     det = det * a[k, k]
//     for each row i > k:  f = a[i, k] / a[k, k];  a[i, j] = a[i, j] - f * a[k, j] for every j > k
//   float32: det is rounded once
//
// The determinant of no rows is 1. A matrix with an element that is not finite has the canonical NaN. Determinism
// class: ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// src [count, n, n] -> dst [count], which do not overlap.
void determinant(const KernelContext& ctx, int64_t count, int64_t n, const float* src, float* dst);
void determinant(const KernelContext& ctx, int64_t count, int64_t n, const double* src, double* dst);

}  // namespace isobit::kernels
