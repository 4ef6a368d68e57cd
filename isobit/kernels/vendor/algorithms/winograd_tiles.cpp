#include "isobit/kernels/vendor/algorithms/winograd_tiles.h"

#include "isobit/base/text.h"

namespace isobit::kernels::algorithms {
namespace {

// to[i] = sum over k of matrix[i][k] * from[k], for rows of kWidth numbers that lie `from_stride` and `to_stride`
// apart.
template <int kWidth, size_t kRows, size_t kColumns>
void apply(const std::array<std::array<float, kColumns>, kRows>& matrix, const float* from, int64_t from_stride,
           float* to, int64_t to_stride) {
  for (size_t i = 0; i < kRows; ++i) {
    float sum[kWidth] = {};
    bool is_first = true;
    for (size_t k = 0; k < kColumns; ++k) {
      const float entry = matrix[i][k];
      if (entry == 0.0f) continue;
      const float* row = from + static_cast<int64_t>(k) * from_stride;
      if (is_first) {
        for (int t = 0; t < kWidth; ++t) sum[t] = entry * row[t];
      } else {
        for (int t = 0; t < kWidth; ++t) sum[t] += entry * row[t];
      }
      is_first = false;
    }
    std::copy_n(sum, kWidth, to + static_cast<int64_t>(i) * to_stride);
  }
}

// Both dimensions, rows first: from [kColumns][kColumns][kWidth] to `to`, element e = (i, j) at to + e * stride.
template <int kWidth, size_t kRows, size_t kColumns>
void apply_twice(const std::array<std::array<float, kColumns>, kRows>& matrix, const float* from, int64_t from_stride,
                 float* to, int64_t stride) {
  constexpr int64_t kIn = kColumns, kOut = kRows;
  float between[kRows * kColumns * kWidth];
  for (int64_t j = 0; j < kIn; ++j) {
    apply<kWidth>(matrix, from + j * from_stride, kIn * from_stride, between + j * kWidth, kIn * kWidth);
  }
  for (int64_t i = 0; i < kOut; ++i) {
    apply<kWidth>(matrix, between + i * kIn * kWidth, kWidth, to + i * kOut * stride, stride);
  }
}

template <int kOutputs>
constexpr auto kBack = rounded(winograd<kOutputs>().back);
template <int kOutputs>
constexpr auto kWeights = rounded(winograd<kOutputs>().weights);
template <int kOutputs>
constexpr auto kSrc = rounded(winograd<kOutputs>().src);

}  // namespace

std::string winograd_refuses(const ConvShape& s) {
  if (s.kh != 3 || s.kw != 3) return text_of("it has 3 x 3 taps only, not ", s.kh, " x ", s.kw);
  if (s.stride_h != 1 || s.stride_w != 1) return "it has stride 1 only";
  if (s.dilation_h != 1 || s.dilation_w != 1) return "it has dilation 1 only";
  if (s.groups != 1) return "it has one group only";
  return "";
}

template <int kOutputs>
void WinogradTiles<kOutputs>::transform_weights(ThreadPool& pool, const float* weights, float* to) const {
  const int64_t filters = s_.oc * s_.ic;
  pool.parallel_for(filters, grain_of(kElements * 9), [&](int64_t begin, int64_t end) {
    for (int64_t f = begin; f < end; ++f) {
      // Not square: rows of 3 to rows of kTile, then columns.
      float between[kTile * 3], out[kElements];
      for (int64_t j = 0; j < 3; ++j) apply<1>(kWeights<kOutputs>, weights + f * 9 + j, 3, between + j, 3);
      for (int64_t i = 0; i < kTile; ++i) apply<1>(kWeights<kOutputs>, between + i * 3, 1, out + i * kTile, 1);
      for (int64_t e = 0; e < kElements; ++e) to[e * filters + f] = out[e];
    }
  });
}

template <int kOutputs>
void WinogradTiles<kOutputs>::transform_src(const float* src, int64_t channel, int64_t first, float* to,
                                            int64_t stride) const {
  float tile[kElements * kTilesAtOnce] = {};
  const int64_t last = std::min(first + kTilesAtOnce, count());
  for (int64_t t = first; t < last; ++t) {
    const Place at = place_of(t);
    const float* plane = src + (at.image * s_.ic + channel) * s_.ih * s_.iw;
    const int64_t top = at.y - s_.pad_top, left = at.x - s_.pad_left;
    for (int64_t y = std::max<int64_t>(0, -top); y < std::min<int64_t>(kTile, s_.ih - top); ++y) {
      for (int64_t x = std::max<int64_t>(0, -left); x < std::min<int64_t>(kTile, s_.iw - left); ++x) {
        tile[(y * kTile + x) * kTilesAtOnce + t - first] = plane[(top + y) * s_.iw + left + x];
      }
    }
  }
  apply_twice<kTilesAtOnce>(kSrc<kOutputs>, tile, kTilesAtOnce, to, stride);
}

template <int kOutputs>
void WinogradTiles<kOutputs>::transform_back(const float* from, int64_t stride, int64_t oc, int64_t first,
                                             const float* bias, float* dst) const {
  float out[kOutputs * kOutputs * kTilesAtOnce];
  apply_twice<kTilesAtOnce>(kBack<kOutputs>, from, stride, out, kTilesAtOnce);
  const int64_t last = std::min(first + kTilesAtOnce, count()), height = s_.oh(), width = s_.ow();
  for (int64_t t = first; t < last; ++t) {
    const Place at = place_of(t);
    float* plane = dst + (at.image * s_.oc + oc) * height * width;
    for (int64_t y = 0; y < std::min<int64_t>(kOutputs, height - at.y); ++y) {
      for (int64_t x = 0; x < std::min<int64_t>(kOutputs, width - at.x); ++x) {
        const float value = out[(y * kOutputs + x) * kTilesAtOnce + t - first];
        plane[(at.y + y) * width + at.x + x] = bias == nullptr ? value : value + bias[oc];
      }
    }
  }
}

template class WinogradTiles<2>;
template class WinogradTiles<4>;

}  // namespace isobit::kernels::algorithms
