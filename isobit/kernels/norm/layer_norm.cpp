#include "isobit/kernels/norm/layer_norm.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/norm/reference.h"
#include "isobit/kernels/norm/table.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/numerics/exact_sum.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {
namespace {

using numerics::StridedSegment;

enum class RowSum { kPlain, kTimesH };

// Sum of (dy * scale), or of (dy * scale) * h, of a row.
float row_sum_exactly(int64_t C, const float* x, const float* dy, const float* scale, float mean, float r,
                      RowSum which) {
  ScratchVector<float> terms(static_cast<size_t>(C));
  for (int64_t c = 0; c < C; ++c) {
    const float g = dy[c] * scale[c];
    const float h = (x[c] - mean) * r;
    terms[c] = which == RowSum::kTimesH ? g * h : g;
  }
  const StridedSegment segment{terms.data(), C, 1};
  return sum_settled(&segment, 1);
}

float column_sum_exactly(int64_t rows, int64_t C, const float* x, const float* dy, const float* mean, const float* r) {
  ScratchVector<float> terms(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    const float h = (x[i * C] - mean[i]) * r[i];
    terms[i] = dy[i * C] * h;
  }
  const StridedSegment segment{terms.data(), rows, 1};
  return sum_settled(&segment, 1);
}

}  // namespace

void layer_norm(const KernelContext& ctx, int64_t rows, int64_t C, float eps, const float* src, const float* scale,
                const float* bias, const LayerNormOutputs<float>& out) {
  if (ctx.isa == Isa::kReference) return reference::layer_norm(rows, C, eps, src, scale, bias, out);
  const norm::Table& isa = norm::table_of(ctx.isa);
  parallel_items(ctx, rows, C, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* x = src + i * C;
      float v;
      const uint8_t open = isa.stats(x, 1, 0, C, &out.mean[i], &v);
      const StridedSegment segment{x, C, 1};
      if (open & norm::kFirst) out.mean[i] = numerics::mean_exactly(&segment, 1);
      if (open & norm::kSecond) v = numerics::variance_exactly(&segment, 1);
      if (out.var) out.var[i] = v;
      out.inv_std[i] = numerics::cr_rsqrt(v + eps);
      isa.apply_row(C, x, out.mean[i], out.inv_std[i], scale, bias, out.dst + i * C);
    }
  });
}

void layer_norm_grad_params(const KernelContext& ctx, int64_t rows, int64_t C, const LayerNormGradInputs<float>& in,
                            float* diff_scale, float* diff_bias) {
  if (ctx.isa == Isa::kReference) return reference::layer_norm_grad_params(rows, C, C, in, diff_scale, diff_bias);
  if (rows == 0) {  // src and diff_dst may be null
    if (diff_scale) std::fill_n(diff_scale, C, 0.0f);
    if (diff_bias) std::fill_n(diff_bias, C, 0.0f);
    return;
  }
  const norm::Table& isa = norm::table_of(ctx.isa);
  parallel_items(ctx, C, rows, [&](int64_t begin, int64_t end) {
    float scale[norm::kColumns], bias[norm::kColumns];
    uint8_t open[norm::kColumns];
    for (int64_t c = begin; c < end; c += norm::kColumns) {
      const int64_t cols = std::min(norm::kColumns, end - c);
      isa.grad_params(in.src + c, in.diff_dst + c, rows, C, cols, in.mean, in.inv_std, scale, bias, open);
      for (int64_t j = 0; j < cols; ++j) {
        const float *x = in.src + c + j, *dy = in.diff_dst + c + j;
        if (diff_scale && (open[j] & norm::kFirst)) scale[j] = column_sum_exactly(rows, C, x, dy, in.mean, in.inv_std);
        if (diff_bias && (open[j] & norm::kSecond)) {
          const StridedSegment segment{dy, rows, C};
          bias[j] = sum_settled(&segment, 1);
        }
      }
      if (diff_scale) std::copy_n(scale, cols, diff_scale + c);
      if (diff_bias) std::copy_n(bias, cols, diff_bias + c);
    }
  });
}

void layer_norm_grad_data(const KernelContext& ctx, int64_t rows, int64_t C, const LayerNormGradInputs<float>& in,
                          float* diff_src, float* sum_g, float* sum_gh) {
  if (ctx.isa == Isa::kReference) return reference::layer_norm_grad_data(rows, C, in, diff_src, sum_g, sum_gh);
  const norm::Table& isa = norm::table_of(ctx.isa);
  const float count = static_cast<float>(C);
  parallel_items(ctx, rows, C, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *x = in.src + i * C, *dy = in.diff_dst + i * C, *scale = in.scale;
      const float mean = in.mean[i], r = in.inv_std[i];
      float g, gh;
      const uint8_t open = isa.row_sums(C, x, dy, scale, mean, r, &g, &gh);
      if (open & norm::kFirst) g = row_sum_exactly(C, x, dy, scale, mean, r, RowSum::kPlain);
      if (open & norm::kSecond) gh = row_sum_exactly(C, x, dy, scale, mean, r, RowSum::kTimesH);
      if (sum_g) sum_g[i] = g;
      if (sum_gh) sum_gh[i] = gh;
      isa.row_data(C, x, dy, scale, mean, r, g / count, gh / count, diff_src + i * C);
    }
  });
}

void layer_norm_grad(const KernelContext& ctx, int64_t rows, int64_t C, const LayerNormGradInputs<float>& in,
                     float* diff_src, float* diff_scale, float* diff_bias) {
  layer_norm_grad_params(ctx, rows, C, in, diff_scale, diff_bias);
  layer_norm_grad_data(ctx, rows, C, in, diff_src);
}

void layer_norm(const KernelContext& ctx, int64_t rows, int64_t C, double eps, const double* src, const double* scale,
                const double* bias, const LayerNormOutputs<double>& out) {
  for_rows(ctx, rows, C, C, [=](int64_t begin, int64_t end) {
    const LayerNormOutputs<double> part{.dst = out.dst + begin * C,
                                        .mean = out.mean + begin,
                                        .inv_std = out.inv_std + begin,
                                        .var = out.var ? out.var + begin : nullptr};
    reference::layer_norm(end - begin, C, eps, src + begin * C, scale, bias, part);
  });
}

void layer_norm_grad_params(const KernelContext& ctx, int64_t rows, int64_t C, const LayerNormGradInputs<double>& in,
                            double* diff_scale, double* diff_bias) {
  if (rows == 0) return reference::layer_norm_grad_params(rows, C, C, in, diff_scale, diff_bias);  // src may be null
  parallel_items(ctx, C, rows, [=](int64_t begin, int64_t end) {
    const LayerNormGradInputs<double> part{.src = in.src + begin,
                                           .mean = in.mean,
                                           .inv_std = in.inv_std,
                                           .scale = nullptr,
                                           .diff_dst = in.diff_dst + begin};
    reference::layer_norm_grad_params(rows, C, end - begin, part, diff_scale ? diff_scale + begin : nullptr,
                                      diff_bias ? diff_bias + begin : nullptr);
  });
}

void layer_norm_grad_data(const KernelContext& ctx, int64_t rows, int64_t C, const LayerNormGradInputs<double>& in,
                          double* diff_src, double* sum_g, double* sum_gh) {
  for_rows(ctx, rows, C, C, [=](int64_t begin, int64_t end) {
    const LayerNormGradInputs<double> part{.src = in.src + begin * C,
                                           .mean = in.mean + begin,
                                           .inv_std = in.inv_std + begin,
                                           .scale = in.scale,
                                           .diff_dst = in.diff_dst + begin * C};
    reference::layer_norm_grad_data(end - begin, C, part, diff_src + begin * C, sum_g ? sum_g + begin : nullptr,
                                    sum_gh ? sum_gh + begin : nullptr);
  });
}

void layer_norm_grad(const KernelContext& ctx, int64_t rows, int64_t C, const LayerNormGradInputs<double>& in,
                     double* diff_src, double* diff_scale, double* diff_bias) {
  layer_norm_grad_params(ctx, rows, C, in, diff_scale, diff_bias);
  layer_norm_grad_data(ctx, rows, C, in, diff_src);
}

}  // namespace isobit::kernels
