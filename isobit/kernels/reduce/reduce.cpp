#include "isobit/kernels/reduce/reduce.h"

#include <limits>
#include <mutex>

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/reference.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/reduce/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_sum.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {

const reduce::Table& reduce::table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table& { return table<kIsa>(); });
}
namespace {

using numerics::StridedSegment;
using numerics::StridedSegmentF64;

template <class T>
void divide_all(const KernelContext& ctx, int64_t n, int64_t count, T* dst) {
  const T divisor = static_cast<T>(count);
  parallel_items(ctx, n, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) dst[i] = numerics::canonical(dst[i] / divisor);
  });
}

// The sum of nothing is +0. src may be null then, and must not be stepped over.
template <class T>
bool sum_of_nothing(int64_t terms, int64_t n, T* dst) {
  if (terms == 0) std::fill_n(dst, n, T(0));
  return terms == 0;
}
template <class T>
bool max_of_nothing(AxisView v, T* dst) {
  if (v.axis == 0) std::fill_n(dst, v.outer * v.inner, -std::numeric_limits<T>::infinity());
  return v.axis == 0;
}

void sum_rows(const KernelContext& ctx, int64_t rows, int64_t n, const float* src, float* dst) {
  const reduce::Table& isa = reduce::table_of(ctx.isa);
  parallel_items(ctx, rows, n, [&, n, src, dst](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* x = src + r * n;
      if (isa.sum(x, 1, 0, n, &dst[r])) continue;
      const StridedSegment segment{x, n, 1};
      dst[r] = sum_settled(&segment, 1);
    }
  });
}

// Channels with spans up to this long are added side by side; the memory likes it better than span by span.
constexpr int64_t kMaxFold = 128;
static_assert(kMaxFold <= reduce::kColumnBlock);

// dst[g] = the sum of columns g * fold .. g * fold + fold - 1 of src [rows, groups * fold]. REQUIRES fold <= kMaxFold.
void sum_folded_columns(const reduce::Table& isa, const float* src, int64_t rows, int64_t row_stride, int64_t groups,
                        int64_t fold, float* dst) {
  const int64_t block = reduce::kColumnBlock / fold;
  double sum[reduce::kColumnBlock], size[reduce::kColumnBlock];
  float least[reduce::kColumnBlock];
  uint8_t undecided[reduce::kColumnBlock];
  for (int64_t g = 0; g < groups; g += block) {
    const int64_t here = std::min(block, groups - g);
    std::fill_n(sum, here * fold, 0.0);
    std::fill_n(size, here * fold, 0.0);
    std::fill_n(least, here * fold, std::numeric_limits<float>::infinity());
    isa.add_columns(src + g * fold, rows, row_stride, here * fold, sum, size, least);
    for (int64_t j = 0; j < here && fold > 1; ++j) {
      double s = 0, a = 0;
      float m = std::numeric_limits<float>::infinity();
      for (int64_t f = j * fold; f < (j + 1) * fold; ++f) {
        s += sum[f];
        a += size[f];
        m = std::min(m, least[f]);
      }
      sum[j] = s;
      size[j] = a;
      least[j] = m;
    }
    const double steps = reduce::column_steps(rows) + static_cast<double>(fold);
    if (isa.round_columns(here, sum, size, least, steps, dst + g, undecided) == 0) continue;
    ScratchVector<StridedSegment> segments(static_cast<size_t>(fold));
    for (int64_t j = 0; j < here; ++j) {
      if (!undecided[j]) continue;
      for (int64_t f = 0; f < fold; ++f) segments[f] = {src + (g + j) * fold + f, rows, row_stride};
      dst[g + j] = sum_settled(segments.data(), fold);
    }
  }
}

// Rows that are as far apart as pages are read a page at a time, where that leaves enough blocks for all threads.
void sum_middle(const KernelContext& ctx, AxisView v, const float* src, float* dst) {
  constexpr int64_t kNarrow = reduce::kColumnBlock / 4;
  const reduce::Table& isa = reduce::table_of(ctx.isa);
  const int64_t width = v.inner >= 4 * ctx.pool->threads() * reduce::kColumnBlock ? reduce::kColumnBlock : kNarrow;
  const int64_t blocks = (v.inner + width - 1) / width;
  parallel_items(ctx, v.outer * blocks, v.axis * std::min(v.inner, width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / blocks, j = i % blocks * width;
      sum_folded_columns(isa, src + o * v.axis * v.inner + j, v.axis, v.inner, std::min(width, v.inner - j), 1,
                         dst + o * v.inner + j);
    }
  });
}

}  // namespace

void reduce_sum(const KernelContext& ctx, AxisView v, const float* src, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_sum(v, src, dst);
  if (sum_of_nothing(v.axis, v.outer * v.inner, dst)) return;
  if (v.inner == 1) return sum_rows(ctx, v.outer, v.axis, src, dst);
  sum_middle(ctx, v, src, dst);
}

void reduce_sum(const KernelContext& ctx, AxisView v, const double* src, double* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_sum(v, src, dst);
  if (sum_of_nothing(v.axis, v.outer * v.inner, dst)) return;
  parallel_items(ctx, v.outer * v.inner, v.axis, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const StridedSegmentF64 segment{src + i / v.inner * v.axis * v.inner + i % v.inner, v.axis, v.inner};
      dst[i] = numerics::sum_ordered_f64(std::span(&segment, 1));
    }
  });
}

void reduce_mean(const KernelContext& ctx, AxisView v, const float* src, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_mean(v, src, dst);
  reduce_sum(ctx, v, src, dst);
  divide_all(ctx, v.outer * v.inner, v.axis, dst);
}

void reduce_mean(const KernelContext& ctx, AxisView v, const double* src, double* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_mean(v, src, dst);
  reduce_sum(ctx, v, src, dst);
  divide_all(ctx, v.outer * v.inner, v.axis, dst);
}

void reduce_max(const KernelContext& ctx, AxisView v, const float* src, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_max(v, src, dst);
  if (max_of_nothing(v, dst)) return;
  const reduce::Table& isa = reduce::table_of(ctx.isa);
  parallel_items(ctx, v.outer, v.axis * v.inner, [&](int64_t begin, int64_t end) {
    ScratchVector<int32_t> best(static_cast<size_t>(v.inner == 1 ? 0 : v.inner));
    for (int64_t o = begin; o < end; ++o) {
      const float* x = src + o * v.axis * v.inner;
      if (v.inner == 1) {
        dst[o] = isa.max(x, v.axis);
      } else if (v.inner > 1) {
        isa.max_columns(x, v.axis, v.inner, v.inner, best.data(), dst + o * v.inner);
      }
    }
  });
}

void reduce_max(const KernelContext& ctx, AxisView v, const double* src, double* dst) {
  if (ctx.isa == Isa::kReference) return reference::reduce_max(v, src, dst);
  if (max_of_nothing(v, dst)) return;
  parallel_items(ctx, v.outer, v.axis * v.inner, [=](int64_t begin, int64_t end) {
    reference::reduce_max(AxisView{end - begin, v.axis, v.inner}, src + begin * v.axis * v.inner,
                          dst + begin * v.inner);
  });
}

void sum_channels(const KernelContext& ctx, int64_t n, int64_t c, int64_t s, const float* src, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::sum_channels(n, c, s, src, dst);
  if (sum_of_nothing(n * s, c, dst)) return;
  const reduce::Table& isa = reduce::table_of(ctx.isa);
  parallel_items(ctx, c, n * s, [&](int64_t begin, int64_t end) {
    if (s >= 1 && s <= kMaxFold) {
      return sum_folded_columns(isa, src + begin * s, n, c * s, end - begin, s, dst + begin);
    }
    for (int64_t k = begin; k < end; ++k) {
      if (isa.sum(src + k * s, n, c * s, s, &dst[k])) continue;
      ScratchVector<StridedSegment> segments;
      for (int64_t i = 0; i < n; ++i) segments.push_back({src + (i * c + k) * s, s, 1});
      dst[k] = sum_settled(segments.data(), n);
    }
  });
}

void sum_channels(const KernelContext& ctx, int64_t n, int64_t c, int64_t s, const double* src, double* dst) {
  if (ctx.isa == Isa::kReference) return reference::sum_channels(n, c, s, src, dst);
  if (sum_of_nothing(n * s, c, dst)) return;
  parallel_items(ctx, c, n * s, [=](int64_t begin, int64_t end) {
    ScratchVector<StridedSegmentF64> segments(static_cast<size_t>(n));
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t i = 0; i < n; ++i) segments[i] = {src + (i * c + k) * s, s, 1};
      dst[k] = numerics::sum_ordered_f64(segments);
    }
  });
}

float global_sum_of_squares(const KernelContext& ctx, std::span<const ConstPart<float>> parts) {
  if (ctx.isa == Isa::kReference) return reference::global_sum_of_squares(parts);
  const reduce::Table& isa = reduce::table_of(ctx.isa);
  std::mutex mutex;
  double sum = 0, error = 0, pieces = 0;
  for (const ConstPart<float>& part : parts) {
    parallel_items(ctx, part.n, 1, [&](int64_t begin, int64_t end) {
      double s, e;
      isa.sum_of_squares(part.data + begin, end - begin, &s, &e);
      const std::lock_guard lock(mutex);
      sum += s, error += e, pieces += 1;
    });
  }
  error += sum * (pieces + 4) * 0x1p-51;
  const float low = static_cast<float>(sum - error), high = static_cast<float>(sum + error);
  if (low == high) return low;  // a zero here is +0: no term is negative
  ScratchVector<StridedSegment> segments;
  for (const ConstPart<float>& part : parts) segments.push_back({part.data, part.n, 1});
  return numerics::sum_of_squares_exactly(segments.data(), static_cast<int64_t>(segments.size()));
}

double global_sum_of_squares(const KernelContext& ctx, std::span<const ConstPart<double>> parts) {
  if (ctx.isa == Isa::kReference) return reference::global_sum_of_squares(parts);
  ScratchVector<StridedSegmentF64> segments;
  for (const ConstPart<double>& part : parts) segments.push_back({part.data, part.n, 1});
  return numerics::sum_of_squares_ordered_f64(segments);
}

float global_norm(const KernelContext& ctx, std::span<const ConstPart<float>> parts) {
  return numerics::cr_sqrt(global_sum_of_squares(ctx, parts));
}

double global_norm(const KernelContext& ctx, std::span<const ConstPart<double>> parts) {
  return numerics::canonical(numerics::f64_sqrt(global_sum_of_squares(ctx, parts)));
}

}  // namespace isobit::kernels
