// From a product to what the driver computes: its parts, with weights in channel order.
#include "isobit/kernels/matmul/problem.h"

#include <algorithm>

#include "isobit/kernels/conv/missing_taps.h"

namespace isobit::kernels::gemm {
namespace {

using product::Product;

template <class T>
Operand<T> strided(const product::Side& side, const T* data) {
  Operand<T> op;
  op.data = data;
  op.batch_stride = side.batch_stride;
  op.strides = merged(side.strides, side.k);
  return op;
}

template <class T>
Operand<T> windowed(const product::Side& side, const T* data, const product::WindowPart& part) {
  Operand<T> op;
  op.kind = side.kind;
  op.data = data;
  op.batch_stride = side.batch_stride;
  op.grid = part.grid;
  return op;
}

// The side whose elements are weights (channel, tap), in the channel order of the taps of a part. With one tap that is
// the original; otherwise a copy, made once for each call and thread-locally.
template <class T>
Operand<T> ordered_weights(const KernelContext& ctx, const Product<T>& product, const product::WindowPart& part) {
  const product::Side& side = product.geometry.left;
  const product::Strides& s = side.strides;
  const int64_t taps = product.geometry.right.windows.taps(), channels = product.geometry.right.windows.channels;
  if (taps == 1) return strided(side, product.left);
  const int64_t channel_stride = s.period == taps ? s.outer : taps;
  const int64_t rows = product.geometry.batches * side.lines, terms = channels * part.grid.tap_count;
  T* matrix = static_cast<T*>(scratch(Slot::kWeights, static_cast<size_t>(rows * terms + 1) * sizeof(T)));
  const int64_t grain = 1 + (1 << 14) / std::max<int64_t>(1, terms);
  ctx.pool->parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    T* to = matrix + begin * terms;
    for (int64_t row = begin; row < end; ++row) {
      const T* from = product.left + row / side.lines * side.batch_stride + row % side.lines * s.line;
      for (int64_t first = 0; first < channels; first += kChannelBlock) {
        const int64_t last = std::min(first + kChannelBlock, channels);
        for (int64_t t = 0; t < part.grid.tap_count; ++t) {
          const T* tap = from + part.grid.taps[t].index;
          for (int64_t c = first; c < last; ++c) *to++ = tap[c * channel_stride];
        }
      }
    }
  });
  Operand<T> op;
  op.data = matrix;
  op.batch_stride = side.lines * terms;
  op.strides = {terms, 1, std::max<int64_t>(1, terms), 0};
  return op;
}

template <class T>
void run_parts(const KernelContext& ctx, const Product<T>& product) {
  const product::Geometry& g = product.geometry;
  if (g.m == 0 || g.n == 0 || g.batches == 0) return;
  Problem<T> p;
  p.m = g.m;
  p.n = g.n;
  p.order = g.order;
  p.out = g.out;
  p.c = product.out;
  p.bias = product.bias;
  p.bias_per_row = g.bias_side == product::BiasSide::kRows;
  p.bias_batch_stride = g.bias_batch_stride;
  p.batch = g.batches;
  if (g.right.kind == product::SideKind::kStrided) {
    p.left = strided(g.left, product.left);
    p.right = strided(g.right, product.right);
    compute(ctx, p);
    return;
  }
  const product::Windows& w = g.right.windows;
  const bool skips = product::part_count(w) > 1 && may_skip_missing_taps(product.left, g.batches * g.m * g.k);
  const auto missing = skips ? product::Missing::kSkipped : product::Missing::kDisplaced;
  for (int64_t q = 0; q < product::part_count(w); ++q) {
    const product::WindowPart part(w, q, missing);
    p.right = windowed(g.right, product.right, part);
    if (g.right.kind == product::SideKind::kTaps) {
      p.left = strided(g.left, product.left);
    } else {
      p.n = w.images * part.grid.grid_h * part.grid.grid_w;
      p.order = product::channel_order(w.channels, w.taps(), part.grid.tap_count);
      p.out = product::placement_of(g.out, w, part);
      p.left = ordered_weights(ctx, product, part);
    }
    compute(ctx, p);
  }
}

}  // namespace

void run(const KernelContext& ctx, const Product<float>& product) { run_parts(ctx, product); }
void run(const KernelContext& ctx, const Product<double>& product) { run_parts(ctx, product); }

}  // namespace isobit::kernels::gemm
