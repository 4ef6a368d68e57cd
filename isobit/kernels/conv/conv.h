// Two-dimensional convolution (cross-correlation, as ONNX Conv) and its gradients. Determinism class: `ordered-1`.
//
// Each output is one ordered inner product (matmul.h: fma chain per chunk, chunks into blocks of 16, blocks into the
// result, then the bias; a NaN result is the canonical NaN). Only the order of its terms and the chunk boundaries
// belong to the operator. taps = kh * kw.
//
// Channel order, for a sum over C channels of a group and the taps: channels are taken in blocks of 16 (the last may be
// short); inside a block, kh is outermost, then kw, then the channel. A chunk is max(1, round(256 / (16 * taps))) whole
// channel blocks, i.e. 256 terms for 1x1 and 288 for 3x3. (The quotient 16 / taps has fraction one half only for
// 32 taps, where the result is 1 either way.)
//
//   forward:           dst[n, oc, oh, ow]: channel order over the input channels of oc's group.
//   gradient of src:   diff_src[n, ic, ih, iw]: channel order over the output channels of ic's group; the term of
//                      (kh, kw, oc) pairs weights[oc, ic, kh, kw] with the diff_dst whose window puts tap (kh, kw) on
//                      (ih, iw).
//   gradient of weights: diff_weights[oc, ic, kh, kw]: terms in the order (n, oh, ow). A chunk is `rows` whole rows
//                      of an image, rows = max(1, floor(256 / ow())), the last chunk of an image being short where
//                      that does not divide oh(); but where oh() * ow() <= 128 a chunk is
//                      floor(256 / (oh() * ow())) whole images.
//
// Padding and missing taps. A tap that falls on padding, or (gradient of src) on no output because of stride or border,
// takes part with +0 in place of the element of src or diff_dst. Where its weight is finite this changes no bit, since
// block totals start at +0, and an implementation may skip it; where the weight (gradient of weights: the element of
// diff_dst) is Inf or NaN the product is NaN, and every implementation gives that NaN.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

class KeptPanels;
template <class T>
struct Ending;

// NCHW, row-major, dense. weights are [oc, ic / groups, kh, kw]; bias has length oc.
// REQUIRES every extent >= 1 but n >= 0; pads >= 0; ic and oc divisible by groups; oh() and ow() >= 1.
struct ConvShape {
  int64_t n = 1, ic = 1, ih = 1, iw = 1, oc = 1, kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;

  int64_t oh() const { return (ih + pad_top + pad_bottom - dilation_h * (kh - 1) - 1) / stride_h + 1; }
  int64_t ow() const { return (iw + pad_left + pad_right - dilation_w * (kw - 1) - 1) / stride_w + 1; }
};

inline constexpr int64_t kChannelBlock = 16;

// Whole channel blocks in a chunk of the channel order.
constexpr int64_t channel_blocks_per_chunk(int64_t taps) {
  const int64_t rounded = (2 * kChannelBlock + taps) / (2 * taps);  // round(16 / taps)
  return rounded < 1 ? 1 : rounded;
}

// bias may be nullptr. No output overlaps an operand. kept (matmul/kept_panels.h): the weights are the same in every
// call with it; it outlives the call, serves one at a time, and is not used by the reference and where lanes are
// images. ending (product/ending.h): what becomes of each output; null: nothing.
void conv_forward(const KernelContext& ctx, const ConvShape& shape, const float* src, const float* weights,
                  const float* bias, float* dst, KeptPanels* kept = nullptr, const Ending<float>* ending = nullptr);
void conv_forward(const KernelContext& ctx, const ConvShape& shape, const double* src, const double* weights,
                  const double* bias, double* dst, KeptPanels* kept = nullptr, const Ending<double>* ending = nullptr);

void conv_grad_src(const KernelContext& ctx, const ConvShape& shape, const float* diff_dst, const float* weights,
                   float* diff_src);
void conv_grad_src(const KernelContext& ctx, const ConvShape& shape, const double* diff_dst, const double* weights,
                   double* diff_src);

// n = 0 gives +0 everywhere.
void conv_grad_weights(const KernelContext& ctx, const ConvShape& shape, const float* src, const float* diff_dst,
                       float* diff_weights);
void conv_grad_weights(const KernelContext& ctx, const ConvShape& shape, const double* src, const double* diff_dst,
                       double* diff_weights);

}  // namespace isobit::kernels
