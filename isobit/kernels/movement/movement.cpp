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

constexpr int64_t kGrain = 16384;

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
  ctx.pool->parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    std::fill(static_cast<E*>(dst) + begin, static_cast<E*>(dst) + end, v);
  });
}

template <class E, class Index>
void gather_typed(const KernelContext& ctx, const GatherShape& s, const Index* indices, const void* src, void* dst) {
  const auto* from = static_cast<const E*>(src);
  auto* to = static_cast<E*>(dst);
  const int64_t grain = kGrain / std::max<int64_t>(s.inner, 1) + 1;
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

SliceRange resolve_slice(int64_t dim, int64_t start, int64_t end, int64_t step) {
  ISOBIT_CHECK(step != 0 && dim >= 0);
  // Compared before dim is added: INT64_MIN and INT64_MAX are ordinary "from the very end" values in models.
  auto position = [dim](int64_t p) { return p < -dim ? -1 : p < 0 ? p + dim : std::min(p, dim); };
  SliceRange r{0, 0, step};
  if (step > 0) {
    r.start = std::max<int64_t>(position(start), 0);
    const int64_t stop = std::max<int64_t>(position(end), 0);
    if (r.start < stop) r.count = (stop - r.start - 1) / step + 1;
  } else {
    if (dim == 0) return {0, 0, 1};
    r.start = std::clamp<int64_t>(position(start), 0, dim - 1);
    const int64_t stop = std::min(position(end), dim - 1);
    // (r.start - stop - 1) / -step without negating INT64_MIN.
    if (r.start > stop) r.count = -((r.start - stop - 1) / step) + 1;
  }
  if (r.count == 0) r.start = 0;
  // A step beyond the axis is never taken; as 1 it cannot overflow an offset.
  if (r.count <= 1) r.step = 1;
  return r;
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
  std::vector<int64_t> dst_dims;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t dim = src_shape.dims()[k];
    dst_dims.push_back(dim + before[k] + after[k]);
    c.dims.push_back(std::max<int64_t>(0, dim + std::min<int64_t>(before[k], 0) + std::min<int64_t>(after[k], 0)));
  }
  const Shape dst_shape(dst_dims);
  const bool whole = std::none_of(before.begin(), before.end(), [](int64_t p) { return p > 0; }) &&
                     std::none_of(after.begin(), after.end(), [](int64_t p) { return p > 0; });
  if (!whole) fill(ctx, element_size, dst_shape.elements(), value, dst);
  c.src_steps = dense_steps(src_shape.dims());
  c.dst_steps = dense_steps(dst_dims);
  int64_t from = 0, to = 0;
  for (size_t k = 0; k < rank; ++k) {
    from += std::max<int64_t>(0, -before[k]) * c.src_steps[k];
    to += std::max<int64_t>(0, before[k]) * c.dst_steps[k];
  }
  strided_copy(ctx, element_size, c, at(src, from, element_size), at(dst, to, element_size));
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
