#include "isobit/kernels/movement/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "isobit/base/status.h"
#include "isobit/kernels/movement/reference.h"

namespace isobit::kernels::movement {
namespace {

constexpr int64_t kCopyGrain = 16384;
constexpr int64_t kTile = 32;

// Drops dimensions of 1 and merges neighbours that both sides walk as one. Keeps at least one dimension.
StridedCopy merged(const StridedCopy& c) {
  StridedCopy m;
  for (size_t k = 0; k < c.dims.size(); ++k) {
    if (c.dims[k] == 1) continue;
    if (!m.dims.empty() && m.src_steps.back() == c.dims[k] * c.src_steps[k] &&
        m.dst_steps.back() == c.dims[k] * c.dst_steps[k]) {
      m.dims.back() *= c.dims[k];
      m.src_steps.back() = c.src_steps[k];
      m.dst_steps.back() = c.dst_steps[k];
    } else {
      m.dims.push_back(c.dims[k]);
      m.src_steps.push_back(c.src_steps[k]);
      m.dst_steps.push_back(c.dst_steps[k]);
    }
  }
  if (m.dims.empty()) return {{1}, {1}, {1}};
  return m;
}

void erase_axis(StridedCopy& c, size_t k) {
  const auto at = static_cast<std::ptrdiff_t>(k);
  c.dims.erase(c.dims.begin() + at);
  c.src_steps.erase(c.src_steps.begin() + at);
  c.dst_steps.erase(c.dst_steps.begin() + at);
}

// The offsets of index number `at` of an index space, then of its successors.
class Odometer {
 public:
  Odometer(const StridedCopy& space, int64_t at) : space_(space), index_(space.dims.size()) {
    for (size_t k = index_.size(); k-- > 0;) {
      index_[k] = at % space.dims[k];
      at /= space.dims[k];
      src += index_[k] * space.src_steps[k];
      dst += index_[k] * space.dst_steps[k];
    }
  }
  void next() {
    for (size_t k = index_.size(); k-- > 0;) {
      src += space_.src_steps[k];
      dst += space_.dst_steps[k];
      if (++index_[k] < space_.dims[k]) return;
      src -= space_.dims[k] * space_.src_steps[k];
      dst -= space_.dims[k] * space_.dst_steps[k];
      index_[k] = 0;
    }
  }
  int64_t src = 0, dst = 0;

 private:
  const StridedCopy& space_;
  ScratchVector<int64_t> index_;
};

int64_t product(const ScratchVector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

template <class E>
void copy_row(int64_t n, const E* src, int64_t src_step, E* dst, int64_t dst_step) {
  if (src_step == 1 && dst_step == 1) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(E));
  } else if (src_step == 0 && dst_step == 1) {
    std::fill_n(dst, n, *src);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = src[i * src_step];
  }
}

// Rows along the last axis; the work is cut by elements so that one long row is shared too.
template <class E>
void copy_rows(const KernelContext& ctx, StridedCopy c, const E* src, E* dst) {
  const int64_t row = c.dims.back(), src_step = c.src_steps.back(), dst_step = c.dst_steps.back();
  erase_axis(c, c.dims.size() - 1);
  ctx.pool->parallel_for(product(c.dims) * row, kCopyGrain, [&](int64_t begin, int64_t end) {
    Odometer at(c, begin / row);
    int64_t skip = begin % row;
    while (begin < end) {
      const int64_t n = std::min(row - skip, end - begin);
      copy_row(n, src + at.src + skip * src_step, src_step, dst + at.dst + skip * dst_step, dst_step);
      begin += n;
      skip = 0;
      at.next();
    }
  });
}

// dst[r * dst_step + c] = src[c * src_step + r] for a square of kSide: vectors of 16 bytes that every machine has.
template <class E>
struct Square {
  static constexpr int64_t kSide = 1;
  static void transpose(const E* src, int64_t, E* dst, int64_t) { *dst = *src; }
};
template <>
struct Square<U32> {
  static constexpr int64_t kSide = 4;
  static void transpose(const U32* src, int64_t src_step, U32* dst, int64_t dst_step) {
    typedef uint32_t V __attribute__((vector_size(16), aligned(4), may_alias));
    const V a = *reinterpret_cast<const V*>(src), b = *reinterpret_cast<const V*>(src + src_step);
    const V c = *reinterpret_cast<const V*>(src + 2 * src_step), d = *reinterpret_cast<const V*>(src + 3 * src_step);
    const V ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const V cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *reinterpret_cast<V*>(dst) = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
    *reinterpret_cast<V*>(dst + dst_step) = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
    *reinterpret_cast<V*>(dst + 2 * dst_step) = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
    *reinterpret_cast<V*>(dst + 3 * dst_step) = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
  }
};
template <>
struct Square<U64> {
  static constexpr int64_t kSide = 2;
  static void transpose(const U64* src, int64_t src_step, U64* dst, int64_t dst_step) {
    typedef uint64_t V __attribute__((vector_size(16), aligned(8), may_alias));
    const V a = *reinterpret_cast<const V*>(src), b = *reinterpret_cast<const V*>(src + src_step);
    *reinterpret_cast<V*>(dst) = __builtin_shufflevector(a, b, 0, 2);
    *reinterpret_cast<V*>(dst + dst_step) = __builtin_shufflevector(a, b, 1, 3);
  }
};

template <class E>
void transpose_tile(int64_t rows, int64_t columns, const E* src, int64_t src_step, E* dst, int64_t dst_step) {
  constexpr int64_t kSide = Square<E>::kSide;
  const int64_t whole_rows = rows - rows % kSide, whole_columns = columns - columns % kSide;
  for (int64_t r = 0; r < whole_rows; r += kSide) {
    for (int64_t c = 0; c < whole_columns; c += kSide) {
      Square<E>::transpose(src + c * src_step + r, src_step, dst + r * dst_step + c, dst_step);
    }
    for (int64_t c = whole_columns; c < columns; ++c) {
      for (int64_t i = r; i < r + kSide; ++i) dst[i * dst_step + c] = src[c * src_step + i];
    }
  }
  for (int64_t r = whole_rows; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) dst[r * dst_step + c] = src[c * src_step + r];
  }
}

// src is contiguous along `row_axis`, dst along the last axis: square tiles, so that each cache line is read and
// written whole.
template <class E>
void transpose_tiles(const KernelContext& ctx, StridedCopy c, size_t row_axis, const E* src, E* dst) {
  const int64_t rows = c.dims[row_axis], dst_step = c.dst_steps[row_axis];
  const int64_t columns = c.dims.back(), src_step = c.src_steps.back();
  erase_axis(c, c.dims.size() - 1);
  erase_axis(c, row_axis);
  const int64_t strips = (rows + kTile - 1) / kTile;
  const int64_t grain = kCopyGrain / (std::min(rows, kTile) * columns) + 1;
  ctx.pool->parallel_for(product(c.dims) * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const Odometer at(c, s / strips);
      const int64_t r = s % strips * kTile;
      for (int64_t column = 0; column < columns; column += kTile) {
        transpose_tile(std::min(kTile, rows - r), std::min(kTile, columns - column),
                       src + at.src + r + column * src_step, src_step, dst + at.dst + r * dst_step + column, dst_step);
      }
    }
  });
}

template <class E>
void copy_typed(const KernelContext& ctx, const StridedCopy& c, const void* src, void* dst) {
  const auto* from = static_cast<const E*>(src);
  auto* to = static_cast<E*>(dst);
  const size_t last = c.dims.size() - 1;
  if (c.dst_steps[last] == 1 && c.src_steps[last] != 1 && c.src_steps[last] != 0) {
    for (size_t k = 0; k < last; ++k) {
      if (c.src_steps[k] == 1) return transpose_tiles<E>(ctx, c, k, from, to);
    }
  }
  copy_rows<E>(ctx, c, from, to);
}

}  // namespace

void strided_copy(const KernelContext& ctx, size_t element_size, const StridedCopy& c, const void* src, void* dst) {
  if (product(c.dims) == 0) return;
  if (ctx.isa == Isa::kReference) return reference::strided_copy(element_size, c, src, dst);
  const StridedCopy m = merged(c);
  switch (element_size) {
    case 1:
      return copy_typed<U8>(ctx, m, src, dst);
    case 2:
      return copy_typed<U16>(ctx, m, src, dst);
    case 4:
      return copy_typed<U32>(ctx, m, src, dst);
    case 8:
      return copy_typed<U64>(ctx, m, src, dst);
    default:
      ISOBIT_CHECK(!"element_size is 1, 2, 4 or 8");
  }
}

ScratchVector<int64_t> dense_steps(std::span<const int64_t> dims) {
  ScratchVector<int64_t> steps(dims.size());
  int64_t step = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    steps[k] = step;
    step *= dims[k];
  }
  return steps;
}

}  // namespace isobit::kernels::movement
