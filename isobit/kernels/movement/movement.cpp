#include "isobit/kernels/movement/movement.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/kernels/movement/strided_copy.h"

namespace isobit::kernels {
namespace {

using movement::dense_steps;
using movement::strided_copy;
using movement::StridedCopy;

constexpr int64_t kMoveGrain = 16384;

const void* at(const void* p, int64_t elements, size_t element_size) {
  return static_cast<const char*>(p) + elements * static_cast<int64_t>(element_size);
}
void* at(void* p, int64_t elements, size_t element_size) {
  return static_cast<char*>(p) + elements * static_cast<int64_t>(element_size);
}

// Where the ranges' first position lies in a dense array, and the steps from one position to the next.
struct RangeWalk {
  ScratchVector<int64_t> counts;
  ScratchVector<int64_t> steps;
  int64_t first = 0;
};

RangeWalk walk_ranges(const Shape& shape, std::span<const SliceRange> ranges) {
  ISOBIT_CHECK(static_cast<int>(ranges.size()) == shape.rank());
  RangeWalk walk;
  walk.steps = dense_steps(shape.dims());
  for (size_t k = 0; k < ranges.size(); ++k) {
    walk.counts.push_back(ranges[k].count);
    walk.first += ranges[k].start * walk.steps[k];
    walk.steps[k] *= ranges[k].step;
  }
  return walk;
}

template <class E>
void fill_typed(const KernelContext& ctx, int64_t n, const void* value, void* dst) {
  E v;
  std::memcpy(&v, value, sizeof v);
  ctx.pool->parallel_for(n, kMoveGrain, [&](int64_t begin, int64_t end) {
    std::fill(static_cast<E*>(dst) + begin, static_cast<E*>(dst) + end, v);
  });
}

template <class E, class Index>
void gather_typed(const KernelContext& ctx, const GatherShape& s, const Index* indices, const void* src, void* dst) {
  const auto* from = static_cast<const E*>(src);
  auto* to = static_cast<E*>(dst);
  const int64_t grain = kMoveGrain / std::max<int64_t>(s.inner, 1) + 1;
  ctx.pool->parallel_for(s.outer * s.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = row / s.count, index = indices[row % s.count];
      const E* p = from + (o * s.axis + (index < 0 ? index + s.axis : index)) * s.inner;
      if (s.inner == 1) {
        to[row] = *p;
      } else {
        std::memcpy(to + row * s.inner, p, static_cast<size_t>(s.inner) * sizeof(E));
      }
    }
  });
}

template <class Index>
void gather_sized(const KernelContext& ctx, size_t element_size, const GatherShape& shape, const Index* indices,
                  const void* src, void* dst) {
  if (shape.inner == 0) return;
  switch (element_size) {
    case 1:
      return gather_typed<movement::U8>(ctx, shape, indices, src, dst);
    case 2:
      return gather_typed<movement::U16>(ctx, shape, indices, src, dst);
    case 4:
      return gather_typed<movement::U32>(ctx, shape, indices, src, dst);
    case 8:
      return gather_typed<movement::U64>(ctx, shape, indices, src, dst);
    default:
      ISOBIT_CHECK(!"element_size is 1, 2, 4 or 8");
  }
}

template <class Index>
int64_t first_bad(std::span<const Index> indices, int64_t axis) {
  for (size_t j = 0; j < indices.size(); ++j) {
    if (indices[j] < -axis || indices[j] >= axis) return static_cast<int64_t>(j);
  }
  return -1;
}

}  // namespace

void transpose(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const int> permutation,
               const void* src, void* dst) {
  ISOBIT_CHECK(static_cast<int>(permutation.size()) == src_shape.rank());
  const ScratchVector<int64_t> steps = dense_steps(src_shape.dims());
  StridedCopy c;
  for (int axis : permutation) {
    c.dims.push_back(src_shape[axis]);
    c.src_steps.push_back(steps[static_cast<size_t>(axis)]);
  }
  c.dst_steps = dense_steps(c.dims);
  strided_copy(ctx, element_size, c, src, dst);
}

void concat(const KernelContext& ctx, size_t element_size, int axis, std::span<const ConcatInput> inputs, void* dst) {
  ISOBIT_CHECK(!inputs.empty());
  const auto product = [](std::span<const int64_t> dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  };
  const auto inner = static_cast<size_t>(axis);
  int64_t total = 0;
  for (const ConcatInput& in : inputs) total += product(in.dims.subspan(inner));
  const int64_t outer = product(inputs[0].dims.first(inner));
  int64_t offset = 0;
  for (const ConcatInput& in : inputs) {
    const int64_t part = product(in.dims.subspan(inner));
    const StridedCopy c{{outer, part}, {part, 1}, {total, 1}};
    strided_copy(ctx, element_size, c, in.data, at(dst, offset, element_size));
    offset += part;
  }
}

void slice(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const SliceRange> ranges,
           const void* src, void* dst) {
  const RangeWalk walk = walk_ranges(src_shape, ranges);
  const StridedCopy c{walk.counts, walk.steps, dense_steps(walk.counts)};
  strided_copy(ctx, element_size, c, at(src, walk.first, element_size), dst);
}

void assign_slice(const KernelContext& ctx, size_t element_size, const Shape& dst_shape,
                  std::span<const SliceRange> ranges, const void* src, void* dst) {
  const RangeWalk walk = walk_ranges(dst_shape, ranges);
  const StridedCopy c{walk.counts, dense_steps(walk.counts), walk.steps};
  strided_copy(ctx, element_size, c, src, at(dst, walk.first, element_size));
}

void pad(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const int64_t> before,
         std::span<const int64_t> after, const void* value, const void* src, void* dst) {
  const size_t rank = src_shape.dims().size();
  ISOBIT_CHECK(before.size() == rank && after.size() == rank);
  StridedCopy c;
  ScratchVector<int64_t> dst_dims;
  bool whole = true, empty = false;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t dim = src_shape.dims()[k];
    const int64_t left = std::max<int64_t>(0, dim + std::min<int64_t>(before[k], 0) + std::min<int64_t>(after[k], 0));
    // The larger one may overflow before the smaller one is added.
    dst_dims.push_back(dim + (before[k] + after[k]));
    c.dims.push_back(left);
    whole = whole && before[k] <= 0 && after[k] <= 0;
    empty = empty || left == 0;
  }
  if (!whole) {
    fill(ctx, element_size, std::accumulate(dst_dims.begin(), dst_dims.end(), int64_t{1}, std::multiplies<>()), value,
         dst);
  }
  if (empty) return;  // the first place to copy from may lie outside the source
  c.src_steps = dense_steps(src_shape.dims());
  c.dst_steps = dense_steps(dst_dims);
  int64_t from = 0, to = 0;
  for (size_t k = 0; k < rank; ++k) {
    from += std::max<int64_t>(0, -before[k]) * c.src_steps[k];
    to += std::max<int64_t>(0, before[k]) * c.dst_steps[k];
  }
  strided_copy(ctx, element_size, c, at(src, from, element_size), at(dst, to, element_size));
}

void tile(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const int64_t> repeats,
          const void* src, void* dst) {
  ISOBIT_CHECK(repeats.size() == src_shape.dims().size());
  // An axis for the repetitions before each axis that is repeated.
  const ScratchVector<int64_t> steps = dense_steps(src_shape.dims());
  StridedCopy c;
  for (size_t k = 0; k < repeats.size(); ++k) {
    if (repeats[k] == 0 || src_shape.dims()[k] == 0) return;  // whatever the other products are
    c.dims.insert(c.dims.end(), {repeats[k], src_shape.dims()[k]});
    c.src_steps.insert(c.src_steps.end(), {0, steps[k]});
  }
  c.dst_steps = dense_steps(c.dims);
  strided_copy(ctx, element_size, c, src, dst);
}

void trilu(const KernelContext& ctx, size_t element_size, const Triangle& s, const void* src, void* dst) {
  if (s.cols == 0) return;
  // Beyond these nothing or everything is kept, and no sum below overflows.
  const int64_t k = std::clamp<int64_t>(s.k, -s.rows, s.cols);
  const size_t row_bytes = static_cast<size_t>(s.cols) * element_size;
  ctx.pool->parallel_for(s.batch * s.rows, kMoveGrain / s.cols + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t diagonal = row % s.rows + k;
      const int64_t first = s.upper ? std::clamp<int64_t>(diagonal, 0, s.cols) : 0;
      const int64_t last = s.upper ? s.cols : std::clamp<int64_t>(diagonal + 1, 0, s.cols);
      auto* to = static_cast<char*>(dst) + static_cast<size_t>(row) * row_bytes;
      const auto* from = static_cast<const char*>(src) + static_cast<size_t>(row) * row_bytes;
      std::memset(to, 0, row_bytes);
      const auto skipped = static_cast<size_t>(first) * element_size;
      std::memcpy(to + skipped, from + skipped, static_cast<size_t>(last - first) * element_size);
    }
  });
}

void gather(const KernelContext& ctx, size_t element_size, const GatherShape& shape, const int64_t* indices,
            const void* src, void* dst) {
  gather_sized(ctx, element_size, shape, indices, src, dst);
}
void gather(const KernelContext& ctx, size_t element_size, const GatherShape& shape, const int32_t* indices,
            const void* src, void* dst) {
  gather_sized(ctx, element_size, shape, indices, src, dst);
}

int64_t first_bad_index(std::span<const int64_t> indices, int64_t axis) { return first_bad(indices, axis); }
int64_t first_bad_index(std::span<const int32_t> indices, int64_t axis) { return first_bad(indices, axis); }

void expand(const KernelContext& ctx, size_t element_size, const Shape& src_shape, const Shape& dst_shape,
            const void* src, void* dst) {
  const size_t rank = dst_shape.dims().size(), missing = rank - src_shape.dims().size();
  const ScratchVector<int64_t> steps = dense_steps(src_shape.dims());
  StridedCopy c{{dst_shape.dims().begin(), dst_shape.dims().end()},
                ScratchVector<int64_t>(rank, 0),
                dense_steps(dst_shape.dims())};
  for (size_t k = missing; k < rank; ++k) {
    if (src_shape.dims()[k - missing] != 1) c.src_steps[k] = steps[k - missing];
  }
  strided_copy(ctx, element_size, c, src, dst);
}

void fill(const KernelContext& ctx, size_t element_size, int64_t n, const void* value, void* dst) {
  switch (element_size) {
    case 1:
      return fill_typed<movement::U8>(ctx, n, value, dst);
    case 2:
      return fill_typed<movement::U16>(ctx, n, value, dst);
    case 4:
      return fill_typed<movement::U32>(ctx, n, value, dst);
    case 8:
      return fill_typed<movement::U64>(ctx, n, value, dst);
    default:
      ISOBIT_CHECK(!"element_size is 1, 2, 4 or 8");
  }
}

void copy(const KernelContext& ctx, size_t element_size, int64_t n, const void* src, void* dst) {
  strided_copy(ctx, element_size, {{n}, {1}, {1}}, src, dst);
}

}  // namespace isobit::kernels
