// Max, average and global average pooling of [n, c, ih, iw] (ONNX MaxPool-22, AveragePool-22, GlobalAveragePool).
//
// Sum and the order of Max are those of reduce/reduce.h; T(k) is the integer k rounded to T. Output (oh, ow) looks at
// the taps y = oh * stride_h - pad_top + i * dilation_h (0 <= i < kh) and x likewise; taps outside the image are
// padding. NaN results are canonical. Determinism class: ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

struct PoolShape {
  int64_t n = 1, c = 1, ih = 1, iw = 1;
  int64_t kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t oh = 1, ow = 1;  // windows along each axis
  bool count_include_pad = false;
};

// dst = Max of the taps inside the image, indices = its place in all of src, plane * ih * iw + y * iw + x (first in
// (y, x) order among equals). A window of padding alone: dst = -inf, index -1. indices may be null.
void max_pool(const KernelContext&, const PoolShape&, const float* src, float* dst, int64_t* indices);
void max_pool(const KernelContext&, const PoolShape&, const double* src, double* dst, int64_t* indices);

// diff_src = +0, plus diff_dst of every window whose index is this place, one add each in ascending order of the
// windows of all planes. REQUIRES indices of -1 or of places in diff_src.
void max_pool_grad(const KernelContext&, const PoolShape&, const float* diff_dst, const int64_t* indices,
                   float* diff_src);
void max_pool_grad(const KernelContext&, const PoolShape&, const double* diff_dst, const int64_t* indices,
                   double* diff_src);

// dst = Sum of the taps inside the image / T(count). count: the taps inside the image, or with count_include_pad those
// inside the image and its padding. count = 0: +0.
void average_pool(const KernelContext&, const PoolShape&, const float* src, float* dst);
void average_pool(const KernelContext&, const PoolShape&, const double* src, double* dst);

// g = diff_dst / T(count) per window; diff_src = +0, plus g of every window that has a tap here, one add each in
// ascending (oh, ow) order.
void average_pool_grad(const KernelContext&, const PoolShape&, const float* diff_dst, float* diff_src);
void average_pool_grad(const KernelContext&, const PoolShape&, const double* diff_dst, double* diff_src);

// src [planes, s] -> dst [planes]: dst = Sum / T(s). REQUIRES s >= 1.
void global_average_pool(const KernelContext&, int64_t planes, int64_t s, const float* src, float* dst);
void global_average_pool(const KernelContext&, int64_t planes, int64_t s, const double* src, double* dst);

// diff_src [planes, s] = diff_dst[plane] / T(s).
void global_average_pool_grad(const KernelContext&, int64_t planes, int64_t s, const float* diff_dst, float* diff_src);
void global_average_pool_grad(const KernelContext&, int64_t planes, int64_t s, const double* diff_dst,
                              double* diff_src);

}  // namespace isobit::kernels
