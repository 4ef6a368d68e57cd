#include "isobit/kernels/correct/reference.h"

#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::correct::reference {
namespace {

using numerics::ExactAccumulator;

// The element of an image plane, or +0 outside it.
float tap(const float* plane, int64_t height, int64_t width, int64_t y, int64_t x) {
  return y >= 0 && y < height && x >= 0 && x < width ? plane[y * width + x] : 0.0f;
}

// Calls f(n, channel, y, x) for every element of an [n, channels, height, width] tensor, in order.
template <class F>
void for_each_element(int64_t n, int64_t channels, int64_t height, int64_t width, F f) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) f(i, c, y, x);
      }
    }
  }
}

}  // namespace

void matmul(const MatmulArgs<float>& p) {
  for (int64_t t = 0; t < p.batch; ++t) {
    const float* a = p.a + t * p.a_batch_stride;
    const float* b = p.b + t * p.b_batch_stride;
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        ExactAccumulator sum;
        for (int64_t l = 0; l < p.k; ++l) {
          sum.add_product(a[i * p.a_row_stride + l * p.a_col_stride], b[l * p.b_row_stride + j * p.b_col_stride]);
        }
        if (p.bias != nullptr) sum.add(p.bias[j]);
        p.c[t * p.c_batch_stride + i * p.c_row_stride + j] = sum.rounded();
      }
    }
  }
}

void conv_forward(const ConvShape& s, const float* src, const float* weights, const float* bias, float* dst) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups;
  for_each_element(s.n, s.oc, s.oh(), s.ow(), [&](int64_t n, int64_t oc, int64_t oh, int64_t ow) {
    ExactAccumulator sum;
    for_each_element(1, icg, s.kh, s.kw, [&](int64_t, int64_t c, int64_t kh, int64_t kw) {
      const float* plane = src + (n * s.ic + oc / ocg * icg + c) * s.ih * s.iw;
      const int64_t y = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
      const int64_t x = ow * s.stride_w - s.pad_left + kw * s.dilation_w;
      sum.add_product(tap(plane, s.ih, s.iw, y, x), weights[((oc * icg + c) * s.kh + kh) * s.kw + kw]);
    });
    if (bias != nullptr) sum.add(bias[oc]);
    *dst++ = sum.rounded();
  });
}

void conv_grad_src(const ConvShape& s, const float* diff_dst, const float* weights, float* diff_src) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups;
  for_each_element(s.n, s.ic, s.ih, s.iw, [&](int64_t n, int64_t ic, int64_t ih, int64_t iw) {
    ExactAccumulator sum;
    for_each_element(1, ocg, s.kh, s.kw, [&](int64_t, int64_t c, int64_t kh, int64_t kw) {
      const int64_t oc = ic / icg * ocg + c;
      const int64_t y = ih + s.pad_top - kh * s.dilation_h, x = iw + s.pad_left - kw * s.dilation_w;
      const bool meets = y % s.stride_h == 0 && x % s.stride_w == 0;
      const float* plane = diff_dst + (n * s.oc + oc) * s.oh() * s.ow();
      const float gradient = meets ? tap(plane, s.oh(), s.ow(), y / s.stride_h, x / s.stride_w) : 0.0f;
      sum.add_product(gradient, weights[((oc * icg + ic % icg) * s.kh + kh) * s.kw + kw]);
    });
    *diff_src++ = sum.rounded();
  });
}

void conv_grad_weights(const ConvShape& s, const float* src, const float* diff_dst, float* diff_weights) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups;
  for_each_element(s.oc, icg, s.kh, s.kw, [&](int64_t oc, int64_t c, int64_t kh, int64_t kw) {
    ExactAccumulator sum;
    for_each_element(s.n, 1, s.oh(), s.ow(), [&](int64_t n, int64_t, int64_t oh, int64_t ow) {
      const float* plane = src + (n * s.ic + oc / ocg * icg + c) * s.ih * s.iw;
      const int64_t y = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
      const int64_t x = ow * s.stride_w - s.pad_left + kw * s.dilation_w;
      sum.add_product(tap(plane, s.ih, s.iw, y, x), diff_dst[((n * s.oc + oc) * s.oh() + oh) * s.ow() + ow]);
    });
    *diff_weights++ = sum.rounded();
  });
}

}  // namespace isobit::kernels::correct::reference
