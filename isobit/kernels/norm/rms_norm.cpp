// The loops are those of layer norm, with a mean of 0: x - 0 is x.
#include "isobit/kernels/norm/rms_norm.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/norm/layer_norm.h"
#include "isobit/kernels/norm/reference.h"
#include "isobit/kernels/norm/table.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/reduce/squares.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {
namespace {

using numerics::StridedSegment;

float row_squares(const reduce::Table& isa, int64_t C, const float* x) {
  const StridedSegment row{x, C, 1};
  return sum_of_squares_of(isa, std::span(&row, 1));
}

float inverse_root(float squares, float count, float eps) { return numerics::cr_rsqrt(squares / count + eps); }

// Sum of (dy * scale) * h of a row.
float row_sum_exactly(int64_t C, const float* x, const float* dy, const float* scale, float r) {
  ScratchVector<float> terms(static_cast<size_t>(C));
  for (int64_t c = 0; c < C; ++c) {
    const float g = dy[c] * scale[c];
    const float h = x[c] * r;
    terms[c] = g * h;
  }
  return sum_settled(terms.data(), C);
}

// r of each row, and q where it is wanted.
void inverse_roots(const KernelContext& ctx, int64_t rows, int64_t C, float eps, const float* src, float* r,
                   float* squares) {
  const reduce::Table& sums = reduce::table_of(ctx.isa);
  parallel_items(ctx, rows, C, [=, &sums](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float q = row_squares(sums, C, src + i * C);
      if (squares) squares[i] = q;
      r[i] = inverse_root(q, static_cast<float>(C), eps);
    }
  });
}

}  // namespace

void rms_norm(const KernelContext& ctx, int64_t rows, int64_t C, float eps, const float* src, const float* scale,
              float* dst, float* squares) {
  if (ctx.isa == Isa::kReference) return reference::rms_norm(rows, C, eps, src, scale, dst, squares);
  const norm::Table& isa = norm::table_of(ctx.isa);
  const reduce::Table& sums = reduce::table_of(ctx.isa);
  parallel_items(ctx, rows, C, [=, &isa, &sums](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float q = row_squares(sums, C, src + i * C);
      if (squares) squares[i] = q;
      isa.apply_row(C, src + i * C, 0.0f, inverse_root(q, static_cast<float>(C), eps), scale, nullptr, dst + i * C);
    }
  });
}

void rms_norm_grad(const KernelContext& ctx, int64_t rows, int64_t C, float eps, const RmsNormGradInputs<float>& in,
                   const RmsNormGradOutputs<float>& out) {
  if (ctx.isa == Isa::kReference) return reference::rms_norm_grad(rows, C, eps, in, out);
  ScratchVector<float> r(static_cast<size_t>(rows)), mean(static_cast<size_t>(rows), 0.0f);
  inverse_roots(ctx, rows, C, eps, in.src, r.data(), out.squares);
  const LayerNormGradInputs<float> same = {
      .src = in.src, .mean = mean.data(), .inv_std = r.data(), .scale = in.scale, .diff_dst = in.diff_dst};
  layer_norm_grad_params(ctx, rows, C, same, out.diff_scale, nullptr);
  const norm::Table& isa = norm::table_of(ctx.isa);
  parallel_items(ctx, rows, C, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *x = in.src + i * C, *dy = in.diff_dst + i * C;
      float g, gh;
      const uint8_t open = isa.row_sums(C, x, dy, in.scale, 0.0f, r[i], &g, &gh);
      if (open & norm::kSecond) gh = row_sum_exactly(C, x, dy, in.scale, r[i]);
      if (out.sum_gh) out.sum_gh[i] = gh;
      isa.row_data(C, x, dy, in.scale, 0.0f, r[i], 0.0f, gh / static_cast<float>(C), out.diff_src + i * C);
    }
  });
}

void rms_norm(const KernelContext& ctx, int64_t rows, int64_t C, double eps, const double* src, const double* scale,
              double* dst, double* squares) {
  for_rows(ctx, rows, C, C, [=](int64_t begin, int64_t end) {
    reference::rms_norm(end - begin, C, eps, src + begin * C, scale, dst + begin * C,
                        squares ? squares + begin : nullptr);
  });
}

void rms_norm_grad(const KernelContext&, int64_t rows, int64_t C, double eps, const RmsNormGradInputs<double>& in,
                   const RmsNormGradOutputs<double>& out) {
  reference::rms_norm_grad(rows, C, eps, in, out);
}

}  // namespace isobit::kernels
