// The three transforms of F(m x m, 3 x 3), m = 2 or 4, for 16 tiles of one channel at a time: what the fused and the
// other form have in common, so that they differ in how they add over channels alone.
//
// Order, first down the columns of a tile and then across its rows: terms in ascending order of the matrix's columns,
// entries that are zero left out, every product rounded and then added; no fma. Taps on padding, and what lies beyond
// the image, are +0. One number of a tile that is not finite reaches every output of the tile.
//
// Error of a finite result without underflow: gamma_q times the result of the same algorithm on the magnitudes of
// everything (src, weights, bias and the entries of the matrices), q = 4 (m + 2) + 2 (3 + 1) + channels + 2: a rounding
// for every product and every addition on the way of a term, and one for each entry of `weights`. That is more than
// gamma_k times the magnitudes of the definition's terms, as F(4 x 4, 3 x 3) cancels much. Source of the way it is
// counted: Higham, Accuracy and Stability of Numerical Algorithms, 3.1.
#pragma once

#include <algorithm>

#include "isobit/base/thread_pool.h"
#include "isobit/kernels/vendor/algorithms/algorithm.h"
#include "isobit/kernels/vendor/algorithms/winograd_matrices.h"

namespace isobit::kernels::algorithms {

inline constexpr int64_t kTilesAtOnce = 16;

// "" for 3 x 3 taps, stride 1, dilation 1 and one group.
std::string winograd_refuses(const ConvShape& shape);

// Tiles of all images in the order (image, row, column); those at the right and lower edge may stand over it.
template <int kOutputs>
class WinogradTiles {
 public:
  static constexpr int kTile = Winograd<kOutputs>::kTile, kElements = kTile * kTile;

  // `shape` must outlive this.
  explicit WinogradTiles(const ConvShape& shape)
      : s_(shape), down_((s_.oh() + kOutputs - 1) / kOutputs), across_((s_.ow() + kOutputs - 1) / kOutputs) {}

  int64_t count() const { return s_.n * down_ * across_; }
  // to: [kElements][oc][ic].
  void transform_weights(ThreadPool& pool, const float* weights, float* to) const;
  // The tiles [first, first + kTilesAtOnce) of a channel of every image, those beyond count() being +0. Element e of
  // tile t goes to to[e * stride + t].
  void transform_src(const float* src, int64_t channel, int64_t first, float* to, int64_t stride) const;
  // The other way: from[e * stride + t] to the outputs of channel oc, with the bias.
  void transform_back(const float* from, int64_t stride, int64_t oc, int64_t first, const float* bias,
                      float* dst) const;

 private:
  struct Place {
    int64_t image, y, x;  // of the tile's first output
  };
  Place place_of(int64_t tile) const {
    return {tile / (down_ * across_), tile / across_ % down_ * kOutputs, tile % across_ * kOutputs};
  }

  const ConvShape& s_;
  int64_t down_, across_;
};

extern template class WinogradTiles<2>;
extern template class WinogradTiles<4>;

}  // namespace isobit::kernels::algorithms
