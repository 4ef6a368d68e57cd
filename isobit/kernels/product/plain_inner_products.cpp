#include "isobit/kernels/product/plain_inner_products.h"

#include <algorithm>
#include <optional>

#include "isobit/kernels/conv/missing_taps.h"

namespace isobit::kernels {
namespace {

using product::ColumnBlock;
using product::Geometry;
using product::Planes;
using product::WindowAxis;
using product::Windows;

// Enough for a library to be at its best; more would only leave the caches.
constexpr int64_t kColumns = 2048;
constexpr int64_t kWorthAThread = 1 << 14;  // elements

// A strided matrix as BLAS takes one (rows, or columns, of neighbouring elements that do not overlap), or nullopt. One
// without elements always is.
struct Layout {
  bool transposed;
  int64_t ld;
};
std::optional<Layout> blas_layout(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  const int64_t row = std::max<int64_t>(1, columns), column = std::max<int64_t>(1, rows);
  if (rows == 0 || columns == 0) return Layout{false, row};
  if ((column_stride == 1 || columns <= 1) && (row_stride >= row || rows <= 1)) {
    return Layout{false, rows <= 1 ? row : row_stride};
  }
  if ((row_stride == 1 || rows <= 1) && (column_stride >= column || columns <= 1)) {
    return Layout{true, columns <= 1 ? column : column_stride};
  }
  return std::nullopt;
}

template <class T>
void pack(ThreadPool& pool, int64_t rows, int64_t columns, const T* from, int64_t row_stride, int64_t column_stride,
          T* to) {
  pool.parallel_for(rows, 1 + kWorthAThread / columns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = from[i * row_stride + j * column_stride];
    }
  });
}

template <class T>
void add_bias(ThreadPool& pool, const MatmulArgs<T>& p, T* c) {
  pool.parallel_for(p.m, 1 + kWorthAThread / p.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = c + i * p.c_row_stride;
      for (int64_t j = 0; j < p.n; ++j) row[j] += p.bias[j];
    }
  });
}

// Neighbouring matrices of a batch times one shared right operand are one taller product.
template <class T>
MatmulArgs<T> merge_batch(const MatmulArgs<T>& given) {
  MatmulArgs<T> p = given;
  const bool stacked =
      p.b_batch_stride == 0 && p.a_batch_stride == p.m * p.a_row_stride && p.c_batch_stride == p.m * p.c_row_stride;
  if (p.batch > 1 && stacked) {
    p.m *= p.batch;
    p.batch = 1;
  }
  return p;
}

// The three passes of a convolution are products with the window matrix of the forward one: m output channels of a
// group, n positions, k taps of all its input channels.
Geometry forward_geometry(const ConvShape& s) {
  const Geometry f = product::conv_geometry(s, product::Direction::kForward);
  ISOBIT_CHECK(f.m > 0 && f.k > 0);
  return f;
}

Planes planes_of_src(const Geometry& g) {
  const Windows& w = g.right.windows;
  return {w.channels, w.plane(), w.image_stride};
}
Planes planes_of_dst(const Geometry& g) { return {g.m, g.out.row_stride, g.out.image_stride}; }
// Where a block of one image begins in its first plane.
int64_t begin_of(const Planes& planes, const ColumnBlock& block) {
  return block.image * planes.image_stride + block.begin;
}

// The window matrix is src itself.
bool is_pointwise(const Windows& w) {
  const auto one_to_one = [](const WindowAxis& axis) {
    return axis.taps == 1 && axis.step == 1 && axis.origin == 0 && axis.positions == axis.places;
  };
  return one_to_one(w.rows) && one_to_one(w.columns);
}

}  // namespace

template <class T>
PlainInnerProducts<T>::PlainInnerProducts(std::shared_ptr<MatrixProduct> product, const KernelContext& kernel,
                                          int64_t workspace_bytes)
    : product_(std::move(product)), kernel_(kernel), most_(workspace_bytes / static_cast<int64_t>(sizeof(T))) {
  ISOBIT_CHECK(product_ != nullptr && (sizeof(T) == 4 ? product_->has_f32() : product_->has_f64()));
  product_->fall_back_on(kernel_);
}

template <class T>
Status PlainInnerProducts<T>::multiply(const GemmArgs<T>& args) {
  ++products_;
  return product_->multiply(args);
}

template <class T>
typename PlainInnerProducts<T>::WorkParts PlainInnerProducts<T>::workspace(int64_t first, int64_t second,
                                                                           int64_t third) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const auto whole_lines = [](int64_t count) { return (count + kLine - 1) / kLine * kLine; };
  const int64_t total = whole_lines(first) + whole_lines(second) + whole_lines(third);
  ISOBIT_CHECK(total <= most_);
  if (total > held_) {
    memory_.reset();
    held_ = 0;
    const size_t bytes = static_cast<size_t>(total) * sizeof(T);
    memory_.reset(static_cast<T*>(::operator new[](bytes, std::align_val_t{64})));
    held_ = total;
  }
  T* start = memory_.get();
  return {start, start + whole_lines(first), start + whole_lines(first) + whole_lines(second)};
}

// ---- matmul

template <class T>
Status PlainInnerProducts<T>::matmul(const MatmulArgs<T>& given) {
  const MatmulArgs<T> p = merge_batch(given);
  if (p.m == 0 || p.n == 0 || p.batch == 0) return {};
  const bool a_fits = blas_layout(p.m, p.k, p.a_row_stride, p.a_col_stride).has_value();
  const bool b_fits = blas_layout(p.k, p.n, p.b_row_stride, p.b_col_stride).has_value();
  // Some of each half is lost to alignment.
  const int64_t room = std::max<int64_t>(0, most_ / 2 - 64) / std::max<int64_t>(1, p.k);
  const int64_t rows = a_fits ? p.m : std::min(p.m, room), columns = b_fits ? p.n : std::min(p.n, room);
  if (rows == 0 || columns == 0) {
    kernels::matmul(kernel_, p);
    return {};
  }
  for (int64_t i = 0; i < p.batch; ++i) {
    MatmulArgs<T> one = p;
    one.a += i * p.a_batch_stride;
    one.b += i * p.b_batch_stride;
    one.c += i * p.c_batch_stride;
    ISOBIT_RETURN_IF_ERROR(multiply_packed(one, rows, columns));
    if (p.bias != nullptr) add_bias(*kernel_.pool, p, one.c);
  }
  return {};
}

// One matrix of the batch, a in blocks of rows and b in blocks of columns; one block each where nothing is packed.
template <class T>
Status PlainInnerProducts<T>::multiply_packed(const MatmulArgs<T>& p, int64_t rows_at_once, int64_t columns_at_once) {
  const auto a = blas_layout(p.m, p.k, p.a_row_stride, p.a_col_stride);
  const auto b = blas_layout(p.k, p.n, p.b_row_stride, p.b_col_stride);
  WorkParts room{};
  if (!a || !b) room = workspace(a ? 0 : rows_at_once * p.k, b ? 0 : p.k * columns_at_once);
  for (int64_t j = 0; j < p.n; j += columns_at_once) {
    GemmArgs<T> g;
    g.k = p.k, g.n = std::min(columns_at_once, p.n - j);
    g.b = p.b + j * p.b_col_stride;
    if (b) {
      g.transpose_b = b->transposed, g.ldb = b->ld;
    } else {
      pack(*kernel_.pool, p.k, g.n, g.b, p.b_row_stride, p.b_col_stride, room.second);
      g.b = room.second, g.ldb = g.n;
    }
    for (int64_t i = 0; i < p.m; i += rows_at_once) {
      g.m = std::min(rows_at_once, p.m - i);
      g.a = p.a + i * p.a_row_stride;
      if (a) {
        g.transpose_a = a->transposed, g.lda = a->ld;
      } else {
        // Still there when all of a is one block.
        if (j == 0 || g.m < p.m) pack(*kernel_.pool, g.m, p.k, g.a, p.a_row_stride, p.a_col_stride, room.first);
        g.a = room.first, g.lda = p.k;
      }
      g.c = p.c + i * p.c_row_stride + j;
      g.ldc = std::max(p.c_row_stride, g.n);
      ISOBIT_RETURN_IF_ERROR(multiply(g));
    }
  }
  return {};
}

// ---- convolution

template <class T>
std::vector<ColumnBlock> PlainInnerProducts<T>::blocks_of(const Geometry& g, int64_t per_column, int64_t fixed) const {
  const int64_t images = g.right.windows.images, area = g.right.windows.positions();
  // A large image that is its own window matrix needs no workspace at all, and so no smaller blocks.
  if (is_pointwise(g.right.windows) && (images == 1 || area >= kColumns / 4)) {
    return product::column_blocks(images, area, area);
  }
  const int64_t fits = (most_ - fixed - 3 * 64) / per_column;
  if (fits < 1) return {};
  return product::column_blocks(images, area, std::min(fits, kColumns));
}

// The columns of the window matrix: in `room`, or where they already are.
template <class T>
typename PlainInnerProducts<T>::template Matrix<const T> PlainInnerProducts<T>::window_matrix(const Windows& w,
                                                                                              const ColumnBlock& block,
                                                                                              const T* planes,
                                                                                              T* room) {
  if (!is_pointwise(w)) {
    product::im2col(*kernel_.pool, w, block, planes, room);
    return {room, block.columns()};
  }
  const Planes shape{w.channels, w.plane(), w.image_stride};
  if (block.images == 1) return {planes + begin_of(shape, block), shape.area};
  product::gather_planes(*kernel_.pool, shape, block, planes, room);
  return {room, block.columns()};
}

// Per group and block: dst [oc, columns] = weights [oc, k] windows [k, columns].
template <class T>
Status PlainInnerProducts<T>::conv_forward(const ConvShape& s, const T* src, const T* weights, const T* bias, T* dst) {
  if (s.n == 0) return {};
  const Geometry f = forward_geometry(s);
  const Windows& w = f.right.windows;
  const Planes planes = planes_of_dst(f);
  const std::vector<ColumnBlock> blocks = blocks_of(f, f.k + f.m, 0);
  if (blocks.empty()) {
    kernels::conv_forward(kernel_, s, src, weights, bias, dst);
    return {};
  }
  for (const ColumnBlock& block : blocks) {
    const bool in_place = block.images == 1, copies_src = !(in_place && is_pointwise(w));
    const int64_t columns = block.columns();
    const WorkParts room = workspace(copies_src ? f.k * columns : 0, in_place ? 0 : f.m * columns);
    for (int64_t group = 0; group < f.batches; ++group) {
      T* const group_dst = dst + group * f.out.batch_stride;
      const Matrix<const T> right = window_matrix(w, block, src + group * f.right.batch_stride, room.first);
      GemmArgs<T> g;
      g.m = f.m, g.n = columns, g.k = f.k;
      g.a = weights + group * f.left.batch_stride, g.lda = f.left.strides.line;
      g.b = right.data, g.ldb = right.ld;
      g.c = in_place ? group_dst + begin_of(planes, block) : room.second;
      g.ldc = in_place ? planes.area : columns;
      ISOBIT_RETURN_IF_ERROR(multiply(g));
      const T* group_bias = bias == nullptr ? nullptr : bias + group * f.bias_batch_stride;
      if (!in_place) {
        product::scatter_planes(*kernel_.pool, planes, block, room.second, group_bias, group_dst);
      } else if (bias != nullptr) {
        product::add_bias_to_planes(*kernel_.pool, planes, block, group_bias, group_dst);
      }
    }
  }
  return {};
}

// Per group and block: the gradient of the windows [k, columns] = weights^T [k, oc] diff_dst [oc, columns], then summed
// over the windows that hold an element.
template <class T>
Status PlainInnerProducts<T>::conv_grad_src(const ConvShape& s, const T* diff_dst, const T* weights, T* diff_src) {
  if (s.n == 0) return {};
  const Geometry f = forward_geometry(s);
  const Windows& w = f.right.windows;
  const Planes planes = planes_of_dst(f);
  const std::vector<ColumnBlock> blocks = blocks_of(f, f.k + f.m, 0);
  // The sum over windows leaves missing taps out.
  if (blocks.empty() || !may_skip_missing_taps(weights, f.batches * f.m * f.k)) {
    kernels::conv_grad_src(kernel_, s, diff_dst, weights, diff_src);
    return {};
  }
  for (const ColumnBlock& block : blocks) {
    const bool in_place = block.images == 1, is_result = in_place && is_pointwise(w);
    const int64_t columns = block.columns();
    const WorkParts room = workspace(is_result ? 0 : f.k * columns, in_place ? 0 : f.m * columns);
    for (int64_t group = 0; group < f.batches; ++group) {
      const T* const group_dst = diff_dst + group * f.out.batch_stride;
      T* const group_src = diff_src + group * f.right.batch_stride;
      if (!in_place) product::gather_planes(*kernel_.pool, planes, block, group_dst, room.second);
      GemmArgs<T> g;
      g.transpose_a = true;
      g.m = f.k, g.n = columns, g.k = f.m;
      g.a = weights + group * f.left.batch_stride, g.lda = f.left.strides.line;
      g.b = in_place ? group_dst + begin_of(planes, block) : room.second;
      g.ldb = in_place ? planes.area : columns;
      g.c = is_result ? group_src + begin_of(planes_of_src(f), block) : room.first;
      g.ldc = is_result ? planes.area : columns;
      ISOBIT_RETURN_IF_ERROR(multiply(g));
      if (!is_result) product::col2im(*kernel_.pool, w, block, room.first, group_src);
    }
  }
  return {};
}

// Per group and block: diff_weights [oc, k] += diff_dst [oc, columns] windows^T [columns, k], some rows at a time.
template <class T>
Status PlainInnerProducts<T>::conv_grad_weights(const ConvShape& s, const T* src, const T* diff_dst, T* diff_weights) {
  const Geometry f = forward_geometry(s);
  const Windows& w = f.right.windows;
  const Planes planes = planes_of_dst(f);
  if (s.n == 0) {
    std::fill_n(diff_weights, f.batches * f.m * f.k, T{0});
    return {};
  }
  // A quarter of the workspace for what a block adds to the sum of those before it, but at least a row.
  const int64_t rows = std::clamp<int64_t>(most_ / 4 / f.k, 1, f.m);
  const std::vector<ColumnBlock> blocks = blocks_of(f, f.k + f.m, rows * f.k);
  if (blocks.empty() || rows * f.k + 64 > most_) {
    kernels::conv_grad_weights(kernel_, s, src, diff_dst, diff_weights);
    return {};
  }
  for (const ColumnBlock& block : blocks) {
    const bool in_place = block.images == 1, copies_src = !(in_place && is_pointwise(w));
    const bool is_first = &block == blocks.data();
    const int64_t columns = block.columns(), step = is_first ? f.m : rows;
    const WorkParts room =
        workspace(copies_src ? f.k * columns : 0, in_place ? 0 : f.m * columns, is_first ? 0 : rows * f.k);
    for (int64_t group = 0; group < f.batches; ++group) {
      const T* const group_dst = diff_dst + group * f.out.batch_stride;
      if (!in_place) product::gather_planes(*kernel_.pool, planes, block, group_dst, room.second);
      const Matrix<const T> right = window_matrix(w, block, src + group * f.right.batch_stride, room.first);
      GemmArgs<T> g;
      g.transpose_b = true;
      g.n = f.k, g.k = columns;
      g.lda = in_place ? planes.area : columns;
      g.b = right.data, g.ldb = right.ld;
      g.ldc = f.k;
      for (int64_t row = 0; row < f.m; row += step) {
        T* sum = diff_weights + group * f.left.batch_stride + row * f.k;
        g.m = std::min(step, f.m - row);
        g.a = (in_place ? group_dst + begin_of(planes, block) : room.second) + row * g.lda;
        g.c = is_first ? sum : room.third;
        ISOBIT_RETURN_IF_ERROR(multiply(g));
        if (is_first) continue;
        kernel_.pool->parallel_for(g.m * f.k, kWorthAThread, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum[i] += room.third[i];
        });
      }
    }
  }
  return {};
}

template class PlainInnerProducts<float>;
template class PlainInnerProducts<double>;

}  // namespace isobit::kernels
