// Log-softmax and cross-entropy.

#include "isobit/base/scratch.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/softmax/reference.h"
#include "isobit/kernels/softmax/softmax.h"
#include "isobit/kernels/softmax/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {
namespace {

bool ignored(CrossEntropyOptions options, int64_t label) {
  return options.has_ignore_index && label == options.ignore_index;
}

// m and l of the contract for one row.
void max_and_log_sum(const softmaxes::Table& isa, int64_t V, const float* x, float* m, float* l) {
  *m = isa.max(V, x);
  float s;
  if (!isa.exp_sum_only(V, x, *m, &s)) {
    ScratchVector<float> e(static_cast<size_t>(V));
    isa.exp_sum(V, x, *m, e.data(), &s);
    s = sum_settled(e.data(), V);
  }
  *l = numerics::cr_log(s);
}

// g of row r is g[r * g_stride].
void grad_rows(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options, const float* logits,
               const int64_t* labels, const float* row_max, const float* log_sum, const float* g, int64_t g_stride,
               float* diff_logits) {
  if (ctx.isa == Isa::kReference) {
    return reference::softmax_cross_entropy_grad(rows, V, options, logits, labels, row_max, log_sum, g, g_stride,
                                                 diff_logits);
  }
  const softmaxes::Table& isa = softmaxes::table_of(ctx.isa);
  parallel_items(ctx, rows, V * kExpWork, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* x = logits + r * V;
      float* d = diff_logits + r * V;
      if (ignored(options, labels[r])) {
        std::fill(d, d + V, 0.0f);
        continue;
      }
      const float m = row_max[r], l = log_sum[r], gr = g[r * g_stride];
      const float t = x[labels[r]] - m;  // read before the row is overwritten in place
      isa.cross_entropy_grad(V, x, m, l, gr, d);
      const float v = t - l;
      const float q = numerics::cr_exp(v) - 1.0f;
      d[labels[r]] = numerics::canonical(q * gr);
    }
  });
}

void grad_rows(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options, const double* logits,
               const int64_t* labels, const double* row_max, const double* log_sum, const double* g, int64_t g_stride,
               double* diff_logits) {
  for_rows(ctx, rows, V, V * kExpWork, [=](int64_t b, int64_t end) {
    reference::softmax_cross_entropy_grad(end - b, V, options, logits + b * V, labels + b, row_max + b, log_sum + b,
                                          g + b * g_stride, g_stride, diff_logits + b * V);
  });
}

}  // namespace

void log_softmax(const KernelContext& ctx, int64_t rows, int64_t V, const float* src, float* dst, float* row_max,
                 float* log_sum) {
  if (ctx.isa == Isa::kReference) return reference::log_softmax(rows, V, src, dst, row_max, log_sum);
  const softmaxes::Table& isa = softmaxes::table_of(ctx.isa);
  parallel_items(ctx, rows, V * kExpWork, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float m, l;
      max_and_log_sum(isa, V, src + r * V, &m, &l);
      isa.log_row(V, src + r * V, m, l, dst + r * V);
      if (row_max) row_max[r] = m;
      if (log_sum) log_sum[r] = l;
    }
  });
}

void log_softmax(const KernelContext& ctx, int64_t rows, int64_t V, const double* src, double* dst, double* row_max,
                 double* log_sum) {
  for_rows(ctx, rows, V, V * kExpWork, [=](int64_t b, int64_t end) {
    reference::log_softmax(end - b, V, src + b * V, dst + b * V, row_max ? row_max + b : nullptr,
                           log_sum ? log_sum + b : nullptr);
  });
}

void log_softmax_grad(const KernelContext& ctx, int64_t rows, int64_t V, const float* dst, const float* diff_dst,
                      float* diff_src, float* row_sum) {
  if (ctx.isa == Isa::kReference) return reference::log_softmax_grad(rows, V, dst, diff_dst, diff_src, row_sum);
  const softmaxes::Table& isa = softmaxes::table_of(ctx.isa);
  parallel_items(ctx, rows, V * kExpWork, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float s;
      if (!isa.sum(V, diff_dst + r * V, &s)) s = sum_settled(diff_dst + r * V, V);
      isa.log_grad(V, dst + r * V, diff_dst + r * V, s, diff_src + r * V);
      if (row_sum) row_sum[r] = s;
    }
  });
}

void log_softmax_grad(const KernelContext& ctx, int64_t rows, int64_t V, const double* dst, const double* diff_dst,
                      double* diff_src, double* row_sum) {
  for_rows(ctx, rows, V, V * kExpWork, [=](int64_t b, int64_t end) {
    reference::log_softmax_grad(end - b, V, dst + b * V, diff_dst + b * V, diff_src + b * V,
                                row_sum ? row_sum + b : nullptr);
  });
}

void softmax_cross_entropy(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options,
                           const float* logits, const int64_t* labels, float* loss, float* row_max, float* log_sum) {
  if (ctx.isa == Isa::kReference) {
    return reference::softmax_cross_entropy(rows, V, options, logits, labels, loss, row_max, log_sum);
  }
  const softmaxes::Table& isa = softmaxes::table_of(ctx.isa);
  parallel_items(ctx, rows, V * kExpWork, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      max_and_log_sum(isa, V, logits + r * V, &row_max[r], &log_sum[r]);
      if (ignored(options, labels[r])) {
        loss[r] = 0;
        continue;
      }
      const float t = logits[r * V + labels[r]] - row_max[r];
      loss[r] = numerics::canonical(log_sum[r] - t);
    }
  });
}

void softmax_cross_entropy(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options,
                           const double* logits, const int64_t* labels, double* loss, double* row_max,
                           double* log_sum) {
  parallel_items(ctx, rows, V * kExpWork, [=](int64_t b, int64_t end) {
    reference::softmax_cross_entropy(end - b, V, options, logits + b * V, labels + b, loss + b, row_max + b,
                                     log_sum + b);
  });
}

float cross_entropy_mean(const KernelContext& ctx, int64_t rows, const float* loss, int64_t count) {
  if (ctx.isa == Isa::kReference) return reference::cross_entropy_mean(rows, loss, count);
  if (count == 0) return 0;
  float s;
  if (!softmaxes::table_of(ctx.isa).sum(rows, loss, &s)) s = sum_settled(loss, rows);
  return numerics::canonical(s / static_cast<float>(count));
}

double cross_entropy_mean(const KernelContext&, int64_t rows, const double* loss, int64_t count) {
  return reference::cross_entropy_mean(rows, loss, count);
}

void softmax_cross_entropy_grad(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options,
                                const float* logits, const int64_t* labels, const float* row_max, const float* log_sum,
                                float diff_loss, int64_t count, float* diff_logits) {
  const float g = diff_loss / static_cast<float>(count);  // with count 0 every row is ignored and g is not used
  grad_rows(ctx, rows, V, options, logits, labels, row_max, log_sum, &g, 0, diff_logits);
}

void softmax_cross_entropy_grad(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options,
                                const double* logits, const int64_t* labels, const double* row_max,
                                const double* log_sum, double diff_loss, int64_t count, double* diff_logits) {
  const double g = diff_loss / static_cast<double>(count);
  grad_rows(ctx, rows, V, options, logits, labels, row_max, log_sum, &g, 0, diff_logits);
}

void softmax_cross_entropy_rows_grad(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options,
                                     const float* logits, const int64_t* labels, const float* row_max,
                                     const float* log_sum, const float* diff_loss, float* diff_logits) {
  grad_rows(ctx, rows, V, options, logits, labels, row_max, log_sum, diff_loss, 1, diff_logits);
}

void softmax_cross_entropy_rows_grad(const KernelContext& ctx, int64_t rows, int64_t V, CrossEntropyOptions options,
                                     const double* logits, const int64_t* labels, const double* row_max,
                                     const double* log_sum, const double* diff_loss, double* diff_logits) {
  grad_rows(ctx, rows, V, options, logits, labels, row_max, log_sum, diff_loss, 1, diff_logits);
}

}  // namespace isobit::kernels
