#include "isobit/kernels/conv/reference.h"

#include <algorithm>

#include "isobit/kernels/matmul/ordered_inner_product.h"

namespace isobit::kernels::reference {
namespace {

// One inner product in channel order; term(channel, y, x) gives the two factors.
template <class T, class Term>
T channel_sum(int64_t channels, const ConvShape& s, const T* bias, Term term) {
  OrderedInnerProduct<T> sum;
  const int64_t blocks_per_chunk = channel_blocks_per_chunk(s.kh * s.kw);
  int64_t blocks = 0;
  for (int64_t first = 0; first < channels; first += kChannelBlock) {
    const int64_t last = std::min(first + kChannelBlock, channels);
    for (int64_t y = 0; y < s.kh; ++y) {
      for (int64_t x = 0; x < s.kw; ++x) {
        for (int64_t c = first; c < last; ++c) term(sum, c, y, x);
      }
    }
    if (++blocks % blocks_per_chunk == 0 || last == channels) sum.end_chunk();
  }
  return sum.finish(bias);
}

template <class T>
T padded(const T* image, int64_t height, int64_t width, int64_t y, int64_t x) {
  return y < 0 || y >= height || x < 0 || x >= width ? T(0) : image[y * width + x];
}

template <class T>
void forward(const ConvShape& s, const T* src, const T* weights, const T* bias, T* dst) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, taps = s.kh * s.kw;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t oc = 0; oc < s.oc; ++oc) {
      const T* images = src + (n * s.ic + oc / ocg * icg) * s.ih * s.iw;
      for (int64_t oh = 0; oh < s.oh(); ++oh) {
        for (int64_t ow = 0; ow < s.ow(); ++ow) {
          *dst++ = channel_sum<T>(icg, s, bias ? bias + oc : nullptr,
                                  [&](OrderedInnerProduct<T>& sum, int64_t c, int64_t y, int64_t x) {
                                    const int64_t iy = oh * s.stride_h - s.pad_top + y * s.dilation_h;
                                    const int64_t ix = ow * s.stride_w - s.pad_left + x * s.dilation_w;
                                    sum.term(padded(images + c * s.ih * s.iw, s.ih, s.iw, iy, ix),
                                             weights[(oc * icg + c) * taps + y * s.kw + x]);
                                  });
        }
      }
    }
  }
}

template <class T>
void grad_src(const ConvShape& s, const T* diff_dst, const T* weights, T* diff_src) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, taps = s.kh * s.kw, oh = s.oh(), ow = s.ow();
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t ic = 0; ic < s.ic; ++ic) {
      const int64_t first_oc = ic / icg * ocg;
      for (int64_t ih = 0; ih < s.ih; ++ih) {
        for (int64_t iw = 0; iw < s.iw; ++iw) {
          *diff_src++ =
              channel_sum<T>(ocg, s, nullptr, [&](OrderedInnerProduct<T>& sum, int64_t c, int64_t y, int64_t x) {
                const int64_t oc = first_oc + c;
                const int64_t v = ih + s.pad_top - y * s.dilation_h, h = iw + s.pad_left - x * s.dilation_w;
                const bool hits = v % s.stride_h == 0 && h % s.stride_w == 0;
                const T* image = diff_dst + (n * s.oc + oc) * oh * ow;
                sum.term(hits ? padded(image, oh, ow, v / s.stride_h, h / s.stride_w) : T(0),
                         weights[(oc * icg + ic % icg) * taps + y * s.kw + x]);
              });
        }
      }
    }
  }
}

template <class T>
void grad_weights(const ConvShape& s, const T* src, const T* diff_dst, T* diff_weights) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, oh = s.oh(), ow = s.ow();
  const int64_t rows = std::max<int64_t>(1, 256 / ow);
  const int64_t images = oh * ow <= 128 ? 256 / (oh * ow) : 0;  // 0: chunks within an image
  for (int64_t oc = 0; oc < s.oc; ++oc) {
    for (int64_t c = 0; c < icg; ++c) {
      for (int64_t y = 0; y < s.kh; ++y) {
        for (int64_t x = 0; x < s.kw; ++x) {
          OrderedInnerProduct<T> sum;
          for (int64_t n = 0; n < s.n; ++n) {
            const T* image = src + (n * s.ic + oc / ocg * icg + c) * s.ih * s.iw;
            for (int64_t v = 0; v < oh; ++v) {
              for (int64_t h = 0; h < ow; ++h) {
                const int64_t iy = v * s.stride_h - s.pad_top + y * s.dilation_h;
                const int64_t ix = h * s.stride_w - s.pad_left + x * s.dilation_w;
                sum.term(diff_dst[((n * s.oc + oc) * oh + v) * ow + h], padded(image, s.ih, s.iw, iy, ix));
              }
              if (!images && ((v + 1) % rows == 0 || v + 1 == oh)) sum.end_chunk();
            }
            if (images && ((n + 1) % images == 0 || n + 1 == s.n)) sum.end_chunk();
          }
          *diff_weights++ = sum.finish(nullptr);
        }
      }
    }
  }
}

}  // namespace

void conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias, float* dst) {
  forward(shape, src, weights, bias, dst);
}
void conv_forward(const ConvShape& shape, const double* src, const double* weights, const double* bias, double* dst) {
  forward(shape, src, weights, bias, dst);
}
void conv_grad_src(const ConvShape& shape, const float* diff_dst, const float* weights, float* diff_src) {
  grad_src(shape, diff_dst, weights, diff_src);
}
void conv_grad_src(const ConvShape& shape, const double* diff_dst, const double* weights, double* diff_src) {
  grad_src(shape, diff_dst, weights, diff_src);
}
void conv_grad_weights(const ConvShape& shape, const float* src, const float* diff_dst, float* diff_weights) {
  grad_weights(shape, src, diff_dst, diff_weights);
}
void conv_grad_weights(const ConvShape& shape, const double* src, const double* diff_dst, double* diff_weights) {
  grad_weights(shape, src, diff_dst, diff_weights);
}

}  // namespace isobit::kernels::reference
