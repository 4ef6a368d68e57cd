// Reductions over any set of axes, brought back to one axis.

#include <algorithm>
#include <limits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/cells.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/reduce.h"
#include "isobit/kernels/reduce/reference.h"

namespace isobit::kernels {
namespace {

struct Run {
  int64_t size;
  bool reduced;
};

// Neighbouring axes with the same fate become one; axes of size 1 disappear.
ScratchVector<Run> merged(std::span<const int64_t> dims, uint64_t axes) {
  ScratchVector<Run> runs;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool reduced = axes >> d & 1;
    if (dims[d] == 1) continue;
    if (!runs.empty() && runs.back().reduced == reduced) {
      runs.back().size *= dims[d];
    } else {
      runs.push_back({dims[d], reduced});
    }
  }
  return runs;
}

// The view of a reduction of at most kept, reduced, kept. Nothing when there are more runs.
bool as_view(ScratchVector<Run> runs, AxisView* view) {
  if (runs.empty() || runs.front().reduced) runs.insert(runs.begin(), {1, false});
  if (runs.size() == 1) runs.push_back({1, true});
  if (runs.size() == 2) runs.push_back({1, false});
  if (runs.size() != 3) return false;
  *view = {runs[0].size, runs[1].size, runs[2].size};
  return true;
}

// src with the kept axes first and the reduced ones last, each in their order.
template <class T>
ScratchVector<T> kept_first(const KernelContext& ctx, const ScratchVector<Run>& runs, const T* src, AxisView* view) {
  int64_t stride = 1;
  ScratchVector<int64_t> size[2], strides[2];
  for (size_t d = runs.size(); d-- > 0; stride *= runs[d].size) {
    size[runs[d].reduced].insert(size[runs[d].reduced].begin(), runs[d].size);
    strides[runs[d].reduced].insert(strides[runs[d].reduced].begin(), stride);
  }
  const auto offset = [&](int side, int64_t index) {
    int64_t at = 0;
    for (size_t d = size[side].size(); d-- > 0; index /= size[side][d]) at += index % size[side][d] * strides[side][d];
    return at;
  };
  int64_t count[2] = {1, 1};
  for (int side : {0, 1}) {
    for (int64_t s : size[side]) count[side] *= s;
  }
  ScratchVector<T> moved(static_cast<size_t>(count[0] * count[1]));
  ScratchVector<int64_t> inner(static_cast<size_t>(count[1]));
  for (int64_t a = 0; a < count[1]; ++a) inner[a] = offset(1, a);
  parallel_items(ctx, count[0], count[1], [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* from = src + offset(0, o);
      T* to = moved.data() + o * count[1];
      for (int64_t a = 0; a < count[1]; ++a) to[a] = from[inner[a]];
    }
  });
  *view = {count[0], count[1], 1};
  return moved;
}

// Of an array without elements no list as long as its other dimensions is made.
template <class T>
bool reduced_nothing(std::span<const int64_t> dims, uint64_t axes, T of_nothing, T* dst) {
  if (!reduce::is_empty(dims)) return false;
  std::fill_n(dst, reduce::result_count(dims, axes), of_nothing);
  return true;
}

// reduce(view, src) on a view that is the wanted reduction.
template <class T, class F>
void over_axes(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const T* src, F reduce) {
  const ScratchVector<Run> runs = merged(dims, axes);
  AxisView view;
  if (as_view(runs, &view)) return reduce(view, src);
  const ScratchVector<T> moved = kept_first(ctx, runs, src, &view);
  reduce(view, moved.data());
}

template <class T>
void sum_axes(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_sum(dims, axes, src, dst);
  if (reduced_nothing(dims, axes, T(0), dst)) return;
  const ScratchVector<Run> runs = merged(dims, axes);
  if (runs.size() == 3 && runs[0].reduced) {
    return sum_channels(ctx, runs[0].size, runs[1].size, runs[2].size, src, dst);
  }
  over_axes(ctx, dims, axes, src, [&](AxisView view, const T* from) { reduce_sum(ctx, view, from, dst); });
}

template <class T>
void mean_axes(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_mean(dims, axes, src, dst);
  over_axes(ctx, dims, axes, src, [&](AxisView view, const T* from) { reduce_mean(ctx, view, from, dst); });
}

template <class T>
void max_axes(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_max(dims, axes, src, dst);
  if (reduced_nothing(dims, axes, -std::numeric_limits<T>::infinity(), dst)) return;
  over_axes(ctx, dims, axes, src, [&](AxisView view, const T* from) { reduce_max(ctx, view, from, dst); });
}

}  // namespace

void reduce_sum(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst) {
  sum_axes(ctx, dims, axes, src, dst);
}
void reduce_sum(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const double* src,
                double* dst) {
  sum_axes(ctx, dims, axes, src, dst);
}
void reduce_mean(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst) {
  mean_axes(ctx, dims, axes, src, dst);
}
void reduce_mean(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const double* src,
                 double* dst) {
  mean_axes(ctx, dims, axes, src, dst);
}
void reduce_max(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst) {
  max_axes(ctx, dims, axes, src, dst);
}
void reduce_max(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const double* src,
                double* dst) {
  max_axes(ctx, dims, axes, src, dst);
}

}  // namespace isobit::kernels
