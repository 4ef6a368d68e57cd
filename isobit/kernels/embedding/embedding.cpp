#include "isobit/kernels/embedding/embedding.h"

#include <algorithm>
#include <limits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/embedding/reference.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/reduce/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

using numerics::StridedSegment;

// The positions of each index, ascending: those of v are order[start[v]] .. order[start[v + 1] - 1].
struct Positions {
  Positions(int64_t n, int64_t V, const int64_t* indices) : start(static_cast<size_t>(V) + 1), order(n) {
    for (int64_t i = 0; i < n; ++i) ++start[indices[i] + 1];
    for (int64_t v = 0; v < V; ++v) start[v + 1] += start[v];
    ScratchVector<int64_t> next(start.begin(), start.end() - 1);
    for (int64_t i = 0; i < n; ++i) order[next[indices[i]]++] = i;
  }
  ScratchVector<int64_t> start, order;
};

// One or two float32 are added by one operation; + 0 makes of -0 the +0 that an exact zero is.
void sum_of_two(const float* a, const float* b, int64_t C, float* dst) {
  for (int64_t c = 0; c < C; ++c) dst[c] = numerics::canonical((a[c] + (b ? b[c] : 0.0f)) + 0.0f);
}

// dst = the sum of the `count` rows of diff_dst at `rows`, a block of columns at a time.
void sum_of_rows(const reduce::Table& isa, const int64_t* rows, int64_t count, int64_t C, const float* diff_dst,
                 float* dst) {
  if (count <= 2) return sum_of_two(diff_dst + rows[0] * C, count == 2 ? diff_dst + rows[1] * C : nullptr, C, dst);
  double sum[reduce::kColumnBlock], size[reduce::kColumnBlock];
  float least[reduce::kColumnBlock];
  uint8_t undecided[reduce::kColumnBlock];
  for (int64_t c = 0; c < C; c += reduce::kColumnBlock) {
    const int64_t cols = std::min(reduce::kColumnBlock, C - c);
    std::fill_n(sum, cols, 0.0);
    std::fill_n(size, cols, 0.0);
    std::fill_n(least, cols, std::numeric_limits<float>::infinity());
    for (int64_t i = 0; i < count; ++i) isa.add_columns(diff_dst + rows[i] * C + c, 1, C, cols, sum, size, least);
    if (isa.round_columns(cols, sum, size, least, static_cast<double>(count + 4), dst + c, undecided) == 0) continue;
    ScratchVector<StridedSegment> segments(static_cast<size_t>(count));
    for (int64_t j = 0; j < cols; ++j) {
      if (!undecided[j]) continue;
      for (int64_t i = 0; i < count; ++i) segments[i] = {diff_dst + rows[i] * C + c + j, 1, 1};
      dst[c + j] = sum_settled(segments.data(), count);
    }
  }
}

void sum_of_rows(const reduce::Table&, const int64_t* rows, int64_t count, int64_t C, const double* diff_dst,
                 double* dst) {
  ScratchVector<numerics::StridedSegmentF64> segments(static_cast<size_t>(count));
  for (int64_t c = 0; c < C; ++c) {
    for (int64_t i = 0; i < count; ++i) segments[i] = {diff_dst + rows[i] * C + c, 1, 1};
    dst[c] = numerics::sum_ordered_f64(segments);
  }
}

}  // namespace

template <class T>
void embedding(const KernelContext& ctx, int64_t n, int64_t, int64_t C, const int64_t* indices, const T* table,
               T* dst) {
  parallel_items(ctx, n, C, [=](int64_t begin, int64_t end) {
    reference::embedding(end - begin, C, indices + begin, table, dst + begin * C);
  });
}

template <class T>
void embedding_grad(const KernelContext& ctx, int64_t n, int64_t V, int64_t C, const int64_t* indices,
                    const T* diff_dst, T* diff_table) {
  if (ctx.isa == Isa::kReference) return reference::embedding_grad(n, V, C, indices, diff_dst, diff_table);
  const reduce::Table& isa = reduce::table_of(ctx.isa);
  const Positions at(n, V, indices);
  parallel_items(ctx, V, C, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      const int64_t count = at.start[v + 1] - at.start[v];
      T* dst = diff_table + v * C;
      if (count == 0) {
        std::fill(dst, dst + C, T(0));
      } else {
        sum_of_rows(isa, at.order.data() + at.start[v], count, C, diff_dst, dst);
      }
    }
  });
}

#define ISOBIT_INSTANTIATE(T)                                                                                \
  template void embedding<T>(const KernelContext&, int64_t, int64_t, int64_t, const int64_t*, const T*, T*); \
  template void embedding_grad<T>(const KernelContext&, int64_t, int64_t, int64_t, const int64_t*, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
