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

template <class T>
Problem<T> problem_of(const product::Product<T>& product) {
  const product::Geometry& g = product.geometry;
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
  if (g.right.kind != product::SideKind::kPositions) p.left = strided(g.left, product.left);
  if (g.right.kind == product::SideKind::kStrided) p.right = strided(g.right, product.right);
  return p;
}

}  // namespace

template <class T>
int64_t PartWeights<T>::write_block(const Table<T>& kernels, int64_t row, int64_t channel, T* to) const {
  const product::Side& side = product_->geometry.left;
  const product::Strides& s = side.strides;
  const product::WindowGrid& grid = part_->grid;
  const int64_t taps = product_->geometry.right.windows.taps(), channel_stride = s.period == taps ? s.outer : taps;
  const int64_t channels = std::min(kChannelBlock, product_->geometry.right.windows.channels - channel);
  const T* from =
      product_->left + row / side.lines * side.batch_stride + row % side.lines * s.line + channel * channel_stride;
  if (grid.tap_count == taps && channels > 4) {
    kernels.transpose(to, channels, channels, from, channel_stride, channels, taps);
    return channels * taps;
  }
  for (int64_t t = 0; t < grid.tap_count; ++t) {
    for (int64_t c = 0; c < channels; ++c) *to++ = from[c * channel_stride + grid.taps[t].index];
  }
  return channels * grid.tap_count;
}

template <class T>
Operand<T> PartWeights<T>::as_rows(const KernelContext& ctx, const Table<T>& kernels) const {
  const product::Geometry& g = product_->geometry;
  if (g.right.windows.taps() == 1) return strided(g.left, product_->left);
  const int64_t rows = g.batches * g.left.lines, length = terms();
  T* matrix = static_cast<T*>(scratch(Slot::kWeights, static_cast<size_t>(rows * length + 1) * sizeof(T)));
  const int64_t grain = 1 + (1 << 14) / std::max<int64_t>(1, length);
  ctx.pool->parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    T* to = matrix + begin * length;
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < g.right.windows.channels; c += kChannelBlock) to += write_block(kernels, row, c, to);
    }
  });
  Operand<T> op;
  op.data = matrix;
  op.batch_stride = g.left.lines * length;
  op.strides = {length, 1, std::max<int64_t>(1, length), 0};
  return op;
}

template <class T>
bool PartWeights<T>::are_finite() const {
  const product::Geometry& g = product_->geometry;
  return finite_ ? *finite_ : may_skip_missing_taps(product_->left, g.batches * g.m * g.k);
}

template class PartWeights<float>;
template class PartWeights<double>;

template <class T>
Problem<T> problem_of(const product::Product<T>& product, const product::WindowPart& part,
                      const PartWeights<T>& weights) {
  const product::Geometry& g = product.geometry;
  const product::Windows& w = g.right.windows;
  Problem<T> p = problem_of(product);
  p.right = windowed(g.right, product.right, part);
  if (g.right.kind == product::SideKind::kTaps) return p;
  p.n = w.images * part.grid.grid_h * part.grid.grid_w;
  p.order = product::channel_order(w.channels, w.taps(), part.grid.tap_count);
  p.out = product::placement_of(g.out, w, part);
  p.weights = &weights;
  return p;
}

template Problem<float> problem_of(const product::Product<float>&, const product::WindowPart&,
                                   const PartWeights<float>&);
template Problem<double> problem_of(const product::Product<double>&, const product::WindowPart&,
                                    const PartWeights<double>&);

namespace {

template <class T>
void run_parts(const KernelContext& ctx, const Product<T>& product) {
  const product::Geometry& g = product.geometry;
  if (g.m == 0 || g.n == 0 || g.batches == 0) return;
  if (g.right.kind == product::SideKind::kStrided) return compute(ctx, problem_of(product));
  const product::Windows& w = g.right.windows;
  std::optional<bool> finite;
  if (product::part_count(w) > 1) finite = may_skip_missing_taps(product.left, g.batches * g.m * g.k);
  const auto missing = finite.value_or(false) ? product::Missing::kSkipped : product::Missing::kDisplaced;
  for (int64_t q = 0; q < product::part_count(w); ++q) {
    const product::WindowPart part(w, q, missing);
    const PartWeights<T> weights(product, part, finite);
    compute(ctx, problem_of(product, part, weights));
  }
}

}  // namespace

void run(const KernelContext& ctx, const Product<float>& product) { run_parts(ctx, product); }
void run(const KernelContext& ctx, const Product<double>& product) { run_parts(ctx, product); }

}  // namespace isobit::kernels::gemm
