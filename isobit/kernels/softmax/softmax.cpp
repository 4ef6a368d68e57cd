#include "isobit/kernels/softmax/softmax.h"

#include <limits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/softmax/reference.h"
#include "isobit/kernels/softmax/table.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {

const softmaxes::Table& softmaxes::table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table& { return table<kIsa>(); });
}
namespace {

int64_t visible(int64_t r, int64_t V, CausalMask mask) {
  return std::clamp<int64_t>(r % mask.T + mask.offset + 1, 0, V);
}

CausalMask no_mask(int64_t V) { return {1, V}; }

float product_sum_exactly(const float* y, const float* dy, int64_t n) {
  ScratchVector<float> p(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) p[i] = y[i] * dy[i];
  return sum_settled(p.data(), n);
}

void softmax_rows(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const float* src, float* dst,
                  float* row_max, float* row_sum) {
  if (ctx.isa == Isa::kReference) return reference::softmax(rows, V, mask, src, dst, row_max, row_sum);
  const softmaxes::Table& isa = softmaxes::table_of(ctx.isa);
  parallel_items(ctx, rows, V * kExpWork, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t n = visible(r, V, mask);
      float m = -std::numeric_limits<float>::infinity(), s = 0;
      float* y = dst + r * V;
      if (n > 0) {
        m = isa.max(n, src + r * V);
        if (!isa.exp_sum(n, src + r * V, m, y, &s)) s = sum_settled(y, n);
        isa.divide(n, s, y);
      }
      std::fill(y + n, y + V, 0.0f);
      if (row_max) row_max[r] = m;
      if (row_sum) row_sum[r] = s;
    }
  });
}

// Rows one by one, since a range of rows may begin inside a group of T.
void softmax_rows(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const double* src, double* dst,
                  double* row_max, double* row_sum) {
  for_rows(ctx, rows, V, V * kExpWork, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      reference::softmax(1, V, CausalMask{1, r % mask.T + mask.offset}, src + r * V, dst + r * V,
                         row_max ? row_max + r : nullptr, row_sum ? row_sum + r : nullptr);
    }
  });
}

void softmax_grad_rows(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const float* dst,
                       const float* diff_dst, float* diff_src, float* row_sum) {
  if (ctx.isa == Isa::kReference) {
    return reference::softmax_grad(rows, V, mask, dst, diff_dst, diff_src, row_sum);
  }
  const softmaxes::Table& isa = softmaxes::table_of(ctx.isa);
  parallel_items(ctx, rows, V, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t n = visible(r, V, mask);
      const float *y = dst + r * V, *dy = diff_dst + r * V;
      float s;
      if (!isa.product_sum(n, y, dy, &s)) s = product_sum_exactly(y, dy, n);
      isa.grad(n, y, dy, s, diff_src + r * V);
      std::fill(diff_src + r * V + n, diff_src + (r + 1) * V, 0.0f);
      if (row_sum) row_sum[r] = s;
    }
  });
}

void softmax_grad_rows(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const double* dst,
                       const double* diff_dst, double* diff_src, double* row_sum) {
  for_rows(ctx, rows, V, V, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      reference::softmax_grad(1, V, CausalMask{1, r % mask.T + mask.offset}, dst + r * V, diff_dst + r * V,
                              diff_src + r * V, row_sum ? row_sum + r : nullptr);
    }
  });
}

}  // namespace

void softmax(const KernelContext& ctx, int64_t rows, int64_t V, const float* src, float* dst, float* row_max,
             float* row_sum) {
  softmax_rows(ctx, rows, V, no_mask(V), src, dst, row_max, row_sum);
}
void softmax(const KernelContext& ctx, int64_t rows, int64_t V, const double* src, double* dst, double* row_max,
             double* row_sum) {
  softmax_rows(ctx, rows, V, no_mask(V), src, dst, row_max, row_sum);
}
void softmax_causal(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const float* src, float* dst,
                    float* row_max, float* row_sum) {
  softmax_rows(ctx, rows, V, mask, src, dst, row_max, row_sum);
}
void softmax_causal(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const double* src, double* dst,
                    double* row_max, double* row_sum) {
  softmax_rows(ctx, rows, V, mask, src, dst, row_max, row_sum);
}

void softmax_grad(const KernelContext& ctx, int64_t rows, int64_t V, const float* dst, const float* diff_dst,
                  float* diff_src, float* row_sum) {
  softmax_grad_rows(ctx, rows, V, no_mask(V), dst, diff_dst, diff_src, row_sum);
}
void softmax_grad(const KernelContext& ctx, int64_t rows, int64_t V, const double* dst, const double* diff_dst,
                  double* diff_src, double* row_sum) {
  softmax_grad_rows(ctx, rows, V, no_mask(V), dst, diff_dst, diff_src, row_sum);
}
void softmax_causal_grad(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const float* dst,
                         const float* diff_dst, float* diff_src, float* row_sum) {
  softmax_grad_rows(ctx, rows, V, mask, dst, diff_dst, diff_src, row_sum);
}
void softmax_causal_grad(const KernelContext& ctx, int64_t rows, int64_t V, CausalMask mask, const double* dst,
                         const double* diff_dst, double* diff_src, double* row_sum) {
  softmax_grad_rows(ctx, rows, V, mask, dst, diff_dst, diff_src, row_sum);
}

}  // namespace isobit::kernels
