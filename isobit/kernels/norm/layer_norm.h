// Layer normalisation (ONNX LayerNormalization-17) of each row of [rows, C].
//
// Sum is that of reduce/reduce.h; T(k) is the integer k rounded to T; each written operation is rounded once, nothing
// is contracted. Mean and variance of a row are those of batch_norm_stats (norm/batch_norm.h). NaN results are
// canonical. Determinism class: ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// Not owned. dst: rows * C elements; the others: rows.
template <class T>
struct LayerNormOutputs {
  T *dst, *mean, *inv_std;
  T* var = nullptr;  // null: not written
};

// mean, var of the row; d = var + eps; inv_std = rsqrt(d) (correctly rounded float32; double: q = sqrt(d), 1 / q)
// t = x - mean; h = t * inv_std; p = h * scale[c]; dst = p + bias[c] (dst = p when bias is null). dst may be src.
// REQUIRES C >= 1.
void layer_norm(const KernelContext&, int64_t rows, int64_t C, float eps, const float* src, const float* scale,
                const float* bias, const LayerNormOutputs<float>&);
void layer_norm(const KernelContext&, int64_t rows, int64_t C, double eps, const double* src, const double* scale,
                const double* bias, const LayerNormOutputs<double>&);

// What the gradients follow from; not owned. src and diff_dst: rows * C elements; mean and inv_std, as layer_norm saved
// them: rows; scale: C.
template <class T>
struct LayerNormGradInputs {
  const T *src, *mean, *inv_std, *scale, *diff_dst;
};

// With h as above, from the saved mean and inv_std:
// diff_bias[c] = Sum over rows of dy; p = dy * h, diff_scale[c] = Sum over rows of p.
// Either may be null. Does not read `scale`.
void layer_norm_grad_params(const KernelContext&, int64_t rows, int64_t C, const LayerNormGradInputs<float>&,
                            float* diff_scale, float* diff_bias);
void layer_norm_grad_params(const KernelContext&, int64_t rows, int64_t C, const LayerNormGradInputs<double>&,
                            double* diff_scale, double* diff_bias);

// g = dy * scale[c]; sum_g[row] = Sum over c of g; e = g * h; sum_gh[row] = Sum over c of e
// a = sum_g / T(C); b = sum_gh / T(C); u = g - a; v = h * b; w = u - v; diff_src = w * inv_std.
// sum_g and sum_gh may be null. diff_src may be diff_dst.
void layer_norm_grad_data(const KernelContext&, int64_t rows, int64_t C, const LayerNormGradInputs<float>&,
                          float* diff_src, float* sum_g = nullptr, float* sum_gh = nullptr);
void layer_norm_grad_data(const KernelContext&, int64_t rows, int64_t C, const LayerNormGradInputs<double>&,
                          double* diff_src, double* sum_g = nullptr, double* sum_gh = nullptr);

// Both. REQUIRES diff_src not diff_dst.
void layer_norm_grad(const KernelContext&, int64_t rows, int64_t C, const LayerNormGradInputs<float>&, float* diff_src,
                     float* diff_scale, float* diff_bias);
void layer_norm_grad(const KernelContext&, int64_t rows, int64_t C, const LayerNormGradInputs<double>&,
                     double* diff_src, double* diff_scale, double* diff_bias);

}  // namespace isobit::kernels
