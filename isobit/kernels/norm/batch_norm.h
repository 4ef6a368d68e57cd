// Batch normalisation (ONNX BatchNormalization-15) over [n, c, s]: n images, c channels, s places (s = 1 for [N, C]).
//
// Sum is that of reduce/reduce.h; terms of a channel are in (n, s) order where order matters (double).
// T(k) is the integer k rounded to T. Each written operation is rounded once; nothing is contracted.
// NaN results are canonical. Determinism class: ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

struct BatchNormShape {
  int64_t n = 1;
  int64_t c = 1;
  int64_t s = 1;
};

// Statistics of each channel over its n * s values. REQUIRES n * s >= 1.
// float: mean = the float32 nearest to the exact mean; var = the float32 nearest to the exact biased variance
//        (N sum x^2 - (sum x)^2) / N^2, +0 when that is zero. Any NaN or infinity in the channel: var = canonical NaN,
//        and mean = NaN or the infinity, as the sum would be.
// double: mean = Sum(x) / T(N); d = x - mean; q = d * d; var = Sum(q) / T(N).
void batch_norm_stats(const KernelContext&, BatchNormShape, const float* src, float* mean, float* var);
void batch_norm_stats(const KernelContext&, BatchNormShape, const double* src, double* mean, double* var);

// d = var[c] + eps; r = rsqrt(d) (correctly rounded float32; double: q = sqrt(d), r = 1 / q)
// t = x - mean[c]; h = t * r; p = h * scale[c]; dst = p + bias[c].
// Training uses the batch's statistics, inference the running ones. dst may be src.
void batch_norm_apply(const KernelContext&, BatchNormShape, float eps, const float* src, const float* mean,
                      const float* var, const float* scale, const float* bias, float* dst);
void batch_norm_apply(const KernelContext&, BatchNormShape, double eps, const double* src, const double* mean,
                      const double* var, const double* scale, const double* bias, double* dst);

// The running statistic (mean or variance) after a step: k = 1 - momentum; a = running * momentum; b = v * k;
// dst = a + b, where v is
//   count 0: current; of a variance the biased one, as in ONNX;
//   count N: current * f, f = T(N) / T(N - 1); of a biased variance of N values the unbiased one, as in PyTorch.
// dst may be running. REQUIRES count == 0 or count >= 2.
void batch_norm_running(const KernelContext&, int64_t c, int64_t count, float momentum, const float* running,
                        const float* current, float* dst);
void batch_norm_running(const KernelContext&, int64_t c, int64_t count, double momentum, const double* running,
                        const double* current, double* dst);

// What the gradients follow from; not owned. src and diff_dst: n * c * s elements; the others: c.
template <class T>
struct BatchNormGradInputs {
  const T *src, *mean, *var, *scale, *diff_dst;
};

// With r and h as in batch_norm_apply (mean and var those of src):
// diff_bias[c] = Sum(dy); p = dy * h; diff_scale[c] = Sum(p). Does not read `scale`.
void batch_norm_grad_sums(const KernelContext&, BatchNormShape, float eps, const BatchNormGradInputs<float>&,
                          float* diff_scale, float* diff_bias);
void batch_norm_grad_sums(const KernelContext&, BatchNormShape, double eps, const BatchNormGradInputs<double>&,
                          double* diff_scale, double* diff_bias);

// The gradient of the input, through the statistics, from the two sums (N = n * s):
// a = diff_bias[c] / T(N); b = diff_scale[c] / T(N); k = scale[c] * r
// u = dy - a; v = h * b; w = u - v; diff_src = w * k. diff_src may be diff_dst.
void batch_norm_grad_data(const KernelContext&, BatchNormShape, float eps, const BatchNormGradInputs<float>&,
                          const float* diff_scale, const float* diff_bias, float* diff_src);
void batch_norm_grad_data(const KernelContext&, BatchNormShape, double eps, const BatchNormGradInputs<double>&,
                          const double* diff_scale, const double* diff_bias, double* diff_src);

// batch_norm_grad_sums, then batch_norm_grad_data.
void batch_norm_grad(const KernelContext&, BatchNormShape, float eps, const BatchNormGradInputs<float>&,
                     float* diff_src, float* diff_scale, float* diff_bias);
void batch_norm_grad(const KernelContext&, BatchNormShape, double eps, const BatchNormGradInputs<double>&,
                     double* diff_src, double* diff_scale, double* diff_bias);

}  // namespace isobit::kernels
