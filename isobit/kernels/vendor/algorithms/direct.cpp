#include "isobit/kernels/vendor/algorithms/direct.h"

#include <algorithm>

#include "isobit/kernels/product/windows.h"

namespace isobit::kernels::algorithms {
namespace {

using product::WindowAxis;
using product::Windows;

// Row `oh` of the plane of output channel `oc` of image `n`.
void compute_row(const Call& call, const Windows& w, int64_t n, int64_t oc, int64_t oh) {
  const ConvShape& s = call.shape;
  const int64_t channels = s.ic / s.groups, group = oc / (s.oc / s.groups), width = w.columns.positions;
  const float* const weights = call.weights + oc * channels * w.taps();
  const float* const image = call.src + n * w.image_stride + group * channels * w.plane();
  float* const row = call.dst + ((n * s.oc + oc) * w.rows.positions + oh) * width;
  std::fill_n(row, width, call.bias == nullptr ? 0.0f : call.bias[oc]);
  for (int64_t ky = 0; ky < s.kh; ++ky) {
    const int64_t place = w.rows.place(ky, oh);
    if (place < 0) continue;
    for (int64_t kx = 0; kx < s.kw; ++kx) {
      const WindowAxis::Hits hits = w.columns.hits(kx, 0, width);
      const int64_t count = hits.end - hits.begin;
      if (count <= 0) continue;
      float* const to = row + hits.begin;
      for (int64_t c = 0; c < channels; ++c) {
        const float weight = weights[c * w.taps() + ky * s.kw + kx];
        const float* const from = image + c * w.plane() + place * w.columns.places + hits.place;
        if (hits.place_step == 1) {
          for (int64_t i = 0; i < count; ++i) to[i] += weight * from[i];
        } else {
          for (int64_t i = 0; i < count; ++i) to[i] += weight * from[i * hits.place_step];
        }
      }
    }
  }
}

}  // namespace

Status Direct::forward(const Call& call) {
  const ConvShape& s = call.shape;
  const Windows w = product::forward_windows(s);
  // Of one group, as im2col wants it; here an image has all of them.
  const int64_t height = w.rows.positions, terms = s.ic / s.groups * w.taps();
  pool_.parallel_for(s.n * s.oc * height, grain_of(w.columns.positions * terms), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) compute_row(call, w, i / height / s.oc, i / height % s.oc, i % height);
  });
  return {};
}

}  // namespace isobit::kernels::algorithms
