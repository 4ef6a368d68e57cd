#include "isobit/kernels/vendor/algorithms/winograd.h"

#include <algorithm>

#include "isobit/base/scratch.h"
#include "isobit/kernels/vendor/algorithms/winograd_tiles.h"

namespace isobit::kernels::algorithms {
namespace {

constexpr int64_t kFloats = kWorkspaceBytes / static_cast<int64_t>(sizeof(float));

ScratchVector<float> floats(int64_t count) { return ScratchVector<float>(static_cast<size_t>(count)); }

// sums[t] = sum over c of weights[c] * src[c][t], ascending from +0.
void add_channels(const float* weights, const float* src, int64_t channels, int64_t stride, float* sums) {
  float sum[kTilesAtOnce] = {};
  for (int64_t c = 0; c < channels; ++c) {
    const float w = weights[c];
    const float* row = src + c * stride;
    for (int64_t t = 0; t < kTilesAtOnce; ++t) sum[t] += w * row[t];
  }
  std::copy_n(sum, kTilesAtOnce, sums);
}

std::string too_large() { return "its transforms do not fit the workspace"; }

}  // namespace

template <int kOutputs>
std::string WinogradFused<kOutputs>::refuses(const ConvShape& s) const {
  if (std::string why = winograd_refuses(s); !why.empty()) return why;
  constexpr int64_t kElements = WinogradTiles<kOutputs>::kElements;
  return kElements * s.ic * (s.oc + kTilesAtOnce) > kFloats ? too_large() : "";
}

template <int kOutputs>
Status WinogradFused<kOutputs>::forward(const Call& call) {
  const ConvShape& s = call.shape;
  const WinogradTiles<kOutputs> tiles(s);
  constexpr int64_t kElements = WinogradTiles<kOutputs>::kElements;
  ScratchVector<float> weights = floats(kElements * s.oc * s.ic);
  tiles.transform_weights(pool_, call.weights, weights.data());
  const int64_t blocks = (tiles.count() + kTilesAtOnce - 1) / kTilesAtOnce;
  pool_.parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    // [element][channel][tile], and the sums of one output channel.
    ScratchVector<float> src = floats(kElements * s.ic * kTilesAtOnce);
    float sums[kElements * kTilesAtOnce];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kTilesAtOnce;
      for (int64_t c = 0; c < s.ic; ++c) {
        tiles.transform_src(call.src, c, first, src.data() + c * kTilesAtOnce, s.ic * kTilesAtOnce);
      }
      for (int64_t oc = 0; oc < s.oc; ++oc) {
        for (int64_t e = 0; e < kElements; ++e) {
          add_channels(weights.data() + (e * s.oc + oc) * s.ic, src.data() + e * s.ic * kTilesAtOnce, s.ic,
                       kTilesAtOnce, sums + e * kTilesAtOnce);
        }
        tiles.transform_back(sums, kTilesAtOnce, oc, first, call.bias, call.dst);
      }
    }
  });
  return {};
}

template <int kOutputs>
std::string WinogradNonFused<kOutputs>::refuses(const ConvShape& s) const {
  if (std::string why = winograd_refuses(s); !why.empty()) return why;
  constexpr int64_t kElements = WinogradTiles<kOutputs>::kElements;
  return kElements * (s.oc * s.ic + (s.oc + s.ic) * kTilesAtOnce) > kFloats ? too_large() : "";
}

template <int kOutputs>
Status WinogradNonFused<kOutputs>::forward(const Call& call) {
  const ConvShape& s = call.shape;
  const WinogradTiles<kOutputs> tiles(s);
  constexpr int64_t kElements = WinogradTiles<kOutputs>::kElements;
  // Blocks of 16 tiles that fit beside the weights, and no more than there are.
  const int64_t all = (tiles.count() + kTilesAtOnce - 1) / kTilesAtOnce;
  const int64_t fit = (kFloats - kElements * s.oc * s.ic) / (kElements * (s.oc + s.ic) * kTilesAtOnce);
  const int64_t at_once = std::min(all, fit), stride = at_once * kTilesAtOnce;
  ScratchVector<float> weights = floats(kElements * s.oc * s.ic);
  ScratchVector<float> src = floats(kElements * s.ic * stride), sums = floats(kElements * s.oc * stride);
  tiles.transform_weights(pool_, call.weights, weights.data());
  for (int64_t begin = 0; begin < all; begin += at_once) {
    const int64_t blocks = std::min(at_once, all - begin);
    // Every unit is a channel and a block of 16 tiles.
    pool_.parallel_for(s.ic * blocks, grain_of(kElements * kTilesAtOnce), [&](int64_t unit, int64_t end) {
      for (; unit < end; ++unit) {
        const int64_t c = unit / blocks, block = unit % blocks;
        tiles.transform_src(call.src, c, (begin + block) * kTilesAtOnce, src.data() + c * stride + block * kTilesAtOnce,
                            s.ic * stride);
      }
    });
    for (int64_t e = 0; e < kElements; ++e) {
      GemmArgs<float> g;
      g.m = s.oc, g.n = blocks * kTilesAtOnce, g.k = s.ic;
      g.a = weights.data() + e * s.oc * s.ic, g.lda = s.ic;
      g.b = src.data() + e * s.ic * stride, g.ldb = stride;
      g.c = sums.data() + e * s.oc * stride, g.ldc = stride;
      ISOBIT_RETURN_IF_ERROR(product_->multiply(g));
    }
    pool_.parallel_for(s.oc * blocks, grain_of(kElements * kTilesAtOnce), [&](int64_t unit, int64_t end) {
      for (; unit < end; ++unit) {
        const int64_t oc = unit / blocks, block = unit % blocks;
        tiles.transform_back(sums.data() + oc * stride + block * kTilesAtOnce, s.oc * stride, oc,
                             (begin + block) * kTilesAtOnce, call.bias, call.dst);
      }
    });
  }
  return {};
}

template class WinogradFused<2>;
template class WinogradFused<4>;
template class WinogradNonFused<2>;
template class WinogradNonFused<4>;

}  // namespace isobit::kernels::algorithms
