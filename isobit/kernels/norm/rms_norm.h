// Normalisation by the root of the mean square (ONNX RMSNormalization-23) of each row of [rows, C].
//
// Sum is that of reduce/reduce.h; T(k) is the integer k rounded to T; each written operation is rounded once, nothing
// is contracted. NaN results are canonical. Determinism class: ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// q = global_sum_of_squares (reduce/reduce.h) of the row; v = q / T(C); d = v + eps;
// r = rsqrt(d) (correctly rounded float32; double: w = sqrt(d), 1 / w)
// h = x * r; dst = h * scale[c]. squares (q) is [rows] and may be null. dst may be src. REQUIRES C >= 1.
void rms_norm(const KernelContext&, int64_t rows, int64_t C, float eps, const float* src, const float* scale,
              float* dst, float* squares = nullptr);
void rms_norm(const KernelContext&, int64_t rows, int64_t C, double eps, const double* src, const double* scale,
              double* dst, double* squares = nullptr);

// What the gradients follow from; not owned. src and diff_dst: rows * C elements; scale: C.
template <class T>
struct RmsNormGradInputs {
  const T *src, *scale, *diff_dst;
};
// Not owned. diff_src: rows * C elements; diff_scale: C; the others, which may be null: rows.
template <class T>
struct RmsNormGradOutputs {
  T *diff_src, *diff_scale;
  T *squares = nullptr, *sum_gh = nullptr;
};

// With q, r and h as above:
// p = dy * h, diff_scale[c] = Sum over rows of p
// g = dy * scale[c]; e = g * h; sum_gh[row] = Sum over c of e; b = sum_gh / T(C)
// v = h * b; w = g - v; diff_src = w * r.
// REQUIRES C >= 1, and that outputs do not overlap operands.
void rms_norm_grad(const KernelContext&, int64_t rows, int64_t C, float eps, const RmsNormGradInputs<float>&,
                   const RmsNormGradOutputs<float>&);
void rms_norm_grad(const KernelContext&, int64_t rows, int64_t C, double eps, const RmsNormGradInputs<double>&,
                   const RmsNormGradOutputs<double>&);

}  // namespace isobit::kernels
