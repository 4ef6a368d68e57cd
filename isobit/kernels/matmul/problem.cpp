// From a product to what the driver computes: its parts, with weights in channel order.
#include "isobit/kernels/matmul/problem.h"

#include <algorithm>

#include "isobit/base/status.h"
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
  p.kept = product.kept;
  p.kept_is_right = product.kept_is_right;
  p.ending = product.ending;
  p.kept_data = product.kept_is_right ? product.right : product.left;
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
Operand<T> PartWeights<T>::rows() const {
  const product::Geometry& g = product_->geometry;
  if (g.right.windows.taps() == 1) return strided(g.left, product_->left);
  Operand<T> op;
  op.batch_stride = g.left.lines * terms();
  op.strides = {terms(), 1, std::max<int64_t>(1, terms()), 0};
  return op;
}

template <class T>
const T* PartWeights<T>::written_rows(const KernelContext& ctx, const Table<T>& kernels) const {
  const product::Geometry& g = product_->geometry;
  if (g.right.windows.taps() == 1) return product_->left;
  const int64_t rows = g.batches * g.left.lines, length = terms();
  T* matrix = static_cast<T*>(scratch(Slot::kWeights, static_cast<size_t>(rows * length + 1) * sizeof(T)));
  const int64_t grain = 1 + (1 << 14) / std::max<int64_t>(1, length);
  ctx.pool->parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    T* to = matrix + begin * length;
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < g.right.windows.channels; c += kChannelBlock) to += write_block(kernels, row, c, to);
    }
  });
  return matrix;
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

// Whether the windows are the plane, element by element.
bool are_the_plane(const product::Windows& windows, const product::WindowGrid& grid) {
  return windows.taps() == 1 && grid.tap_count == 1 && grid.taps[0].y == 0 && grid.taps[0].x == 0 && grid.step_h == 1 &&
         grid.step_w == 1 && grid.grid_h == grid.plane_h && grid.grid_w == grid.plane_w && grid.channels > 0;
}

// Whether each image is as long as a product with it alone should be.
bool are_long(const product::WindowGrid& grid, int64_t lanes) {
  const int64_t positions = grid.grid_h * grid.grid_w;
  return positions >= 16 * lanes || (positions >= 8 * lanes && positions % lanes == 0);
}

// Products of the weights with each image as it lies.
template <class T>
Problem<T> image_by_image(const product::Product<T>& product, const product::WindowPart& part,
                          const PartWeights<T>& weights) {
  const product::WindowGrid& w = part.grid;
  Problem<T> p = problem_of(product, part, weights);
  p.weights = nullptr;
  p.left = strided(product.geometry.left, product.left);
  p.left.batch_stride = 0;
  p.right.kind = product::SideKind::kStrided;
  p.right.batch_stride = w.image_stride;
  p.right.strides = {.line = 1, .inner = w.channel_stride, .period = w.channels, .outer = 0};
  p.n = w.grid_h * w.grid_w;
  p.batch = product.geometry.right.windows.images;
  p.out.batch_stride = p.out.image_stride;
  p.bias_batch_stride = 0;
  return p;
}

// Of taps that are the plane: channels as they lie.
template <class T>
Problem<T> channel_by_channel(Problem<T> p) {
  const product::WindowGrid& w = p.right.grid;
  p.right.kind = product::SideKind::kStrided;
  p.right.strides = {.line = w.channel_stride, .inner = 1, .period = w.grid_h * w.grid_w, .outer = w.image_stride};
  return p;
}

template <class T>
Problem<T> as_it_lies(const product::Product<T>& product, const product::WindowPart& part,
                      const PartWeights<T>& weights, int64_t lanes) {
  const product::Geometry& g = product.geometry;
  if (!are_the_plane(g.right.windows, part.grid)) return problem_of(product, part, weights);
  if (g.right.kind == product::SideKind::kTaps) return channel_by_channel(problem_of(product, part, weights));
  if (g.batches == 1 && (g.right.windows.images == 1 || are_long(part.grid, lanes)))
    return image_by_image(product, part, weights);
  return problem_of(product, part, weights);
}

// Outputs that meet no tap, of images one after another: sums of nothing.
template <class T>
void fill_images(const KernelContext& ctx, const product::Product<T>& product) {
  const product::Geometry& g = product.geometry;
  const product::Windows& w = g.right.windows;
  const int64_t positions = g.n / w.images, rows = g.batches * w.images * g.m;
  ctx.pool->parallel_for(rows, 1 + (1 << 14) / positions, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / (w.images * g.m), image = i / g.m % w.images, row = i % g.m;
      std::fill_n(product.out + g.out.at(batch, row, image * positions), positions, T(0));
    }
  });
}

template Problem<float> problem_of(const product::Product<float>&, const product::WindowPart&,
                                   const PartWeights<float>&);
template Problem<double> problem_of(const product::Product<double>&, const product::WindowPart&,
                                    const PartWeights<double>&);

namespace {

// Whether there are parts that meet no tap, and outputs of an image that lie one after another. Without parts nothing
// is skipped.
template <class T>
bool may_fill(const Product<T>& product, product::Missing missing) {
  const product::Geometry& g = product.geometry;
  const product::Windows& w = g.right.windows;
  if (missing != product::Missing::kSkipped || product.bias) return false;
  if (g.out.lines != 1 || g.out.column_stride != 1) return false;
  for (int64_t q = 0; q < product::part_count(w); ++q) {
    if (product::WindowPart(w, q, missing).grid.tap_count == 0) return true;
  }
  return false;
}

template <class T>
void run_parts(const KernelContext& ctx, const Product<T>& product) {
  const product::Geometry& g = product.geometry;
  if (g.m == 0 || g.n == 0 || g.batches == 0) return;
  if (g.right.kind == product::SideKind::kStrided) {
    ISOBIT_CHECK(product.ending == nullptr);
    return compute(ctx, problem_of(product));
  }
  const product::Windows& w = g.right.windows;
  ISOBIT_CHECK(product.ending == nullptr || (g.right.kind == product::SideKind::kPositions && part_count(w) == 1));
  std::optional<bool> finite;
  if (product::part_count(w) > 1) finite = may_skip_missing_taps(product.left, g.batches * g.m * g.k);
  const auto missing = finite.value_or(false) ? product::Missing::kSkipped : product::Missing::kDisplaced;
  const bool filled = may_fill(product, missing);
  if (filled) fill_images(ctx, product);
  for (int64_t q = 0; q < product::part_count(w); ++q) {
    const product::WindowPart part(w, q, missing);
    if (filled && part.grid.tap_count == 0) continue;
    const PartWeights<T> weights(product, part, finite);
    compute(ctx, as_it_lies(product, part, weights, table_of<T>(ctx.isa).lanes));
  }
}

}  // namespace

void run(const KernelContext& ctx, const Product<float>& product) { run_parts(ctx, product); }
void run(const KernelContext& ctx, const Product<double>& product) { run_parts(ctx, product); }

}  // namespace isobit::kernels::gemm
