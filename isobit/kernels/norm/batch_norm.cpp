#include "isobit/kernels/norm/batch_norm.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/norm/reference.h"
#include "isobit/kernels/norm/table.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_sum.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {

const norm::Table& norm::table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table& { return table<kIsa>(); });
}
namespace {

using numerics::StridedSegment;

// Below this many places a span of a channel is too short for wide vectors and too far from the next one for the
// memory, and channels are taken side by side. REQUIRES kShortSpan <= norm::kColumns.
constexpr int64_t kShortSpan = 128;

// f(first channel, how many, layout) over the channels [begin, end) in groups that fit.
template <class F>
void for_each_group(BatchNormShape b, int64_t begin, int64_t end, F f) {
  const int64_t step = norm::kColumns / b.s;
  for (int64_t c = begin; c < end; c += step) {
    const int64_t here = std::min(step, end - c);
    f(c, here, norm::Interleaved{b.n, b.c * b.s, here, b.s});
  }
}

ScratchVector<StridedSegment> segments_of(BatchNormShape b, int64_t c, const float* x) {
  ScratchVector<StridedSegment> segments;
  for (int64_t i = 0; i < b.n; ++i) segments.push_back({x + (i * b.c + c) * b.s, b.s, 1});
  return segments;
}

void settle_stats(BatchNormShape b, int64_t c, const float* src, uint8_t open, float* mean, float* var) {
  if (open == norm::kDecided) return;
  const ScratchVector<StridedSegment> segments = segments_of(b, c, src);
  if (open & norm::kFirst) *mean = numerics::mean_exactly(segments.data(), b.n);
  if (open & norm::kSecond) *var = numerics::variance_exactly(segments.data(), b.n);
}

void settle_sums(BatchNormShape b, int64_t c, const float* src, float mean, float r, const float* dy, uint8_t open,
                 float* diff_scale, float* diff_bias) {
  if (open & norm::kSecond) {
    const ScratchVector<StridedSegment> segments = segments_of(b, c, dy);
    *diff_bias = sum_settled(segments.data(), b.n);
  }
  if (open & norm::kFirst) {
    ScratchVector<float> p;
    for (int64_t i = 0; i < b.n; ++i) {
      for (int64_t k = (i * b.c + c) * b.s; k < (i * b.c + c + 1) * b.s; ++k) {
        const float h = (src[k] - mean) * r;
        p.push_back(dy[k] * h);
      }
    }
    const StridedSegment segment{p.data(), static_cast<int64_t>(p.size()), 1};
    *diff_scale = sum_settled(&segment, 1);
  }
}

ScratchVector<float> inverse_deviations(int64_t c, float eps, const float* var) {
  ScratchVector<float> r(static_cast<size_t>(c));
  for (int64_t i = 0; i < c; ++i) r[i] = numerics::cr_rsqrt(var[i] + eps);
  return r;
}

}  // namespace

void batch_norm_stats(const KernelContext& ctx, BatchNormShape b, const float* src, float* mean, float* var) {
  if (ctx.isa == Isa::kReference) return reference::batch_norm_stats(b, b.c, src, mean, var);
  const norm::Table& isa = norm::table_of(ctx.isa);
  parallel_items(ctx, b.c, b.n * b.s, [&](int64_t begin, int64_t end) {
    if (b.s >= kShortSpan) {
      for (int64_t c = begin; c < end; ++c) {
        const uint8_t open = isa.stats(src + c * b.s, b.n, b.c * b.s, b.s, &mean[c], &var[c]);
        settle_stats(b, c, src, open, &mean[c], &var[c]);
      }
      return;
    }
    uint8_t open[norm::kColumns];
    for_each_group(b, begin, end, [&](int64_t c, int64_t here, norm::Interleaved v) {
      isa.stats_interleaved(src + c * b.s, v, mean + c, var + c, open);
      for (int64_t i = 0; i < here; ++i) settle_stats(b, c + i, src, open[i], &mean[c + i], &var[c + i]);
    });
  });
}

void batch_norm_apply(const KernelContext& ctx, BatchNormShape b, float eps, const float* src, const float* mean,
                      const float* var, const float* scale, const float* bias, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::batch_norm_apply(b, eps, src, mean, var, scale, bias, dst);
  const norm::Table& isa = norm::table_of(ctx.isa);
  const ScratchVector<float> r = inverse_deviations(b.c, eps, var);
  if (b.s >= kShortSpan) {
    return parallel_items(ctx, b.n * b.c, b.s, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = i % b.c;
        isa.apply(b.s, src + i * b.s, mean[c], r[c], scale[c], bias[c], dst + i * b.s);
      }
    });
  }
  if (b.s < 1) return;
  parallel_items(ctx, b.n, b.c * b.s, [&](int64_t begin, int64_t end) {
    const BatchNormShape part{end - begin, b.c, b.s};
    const int64_t start = begin * b.c * b.s;
    for_each_group(part, 0, b.c, [&](int64_t c, int64_t, norm::Interleaved v) {
      const int64_t at = start + c * b.s;
      isa.apply_interleaved(src + at, v, mean + c, &r[c], scale + c, bias + c, dst + at);
    });
  });
}

void batch_norm_grad_sums(const KernelContext& ctx, BatchNormShape b, float eps, const BatchNormGradInputs<float>& in,
                          float* diff_scale, float* diff_bias) {
  if (ctx.isa == Isa::kReference) return reference::batch_norm_grad_sums(b, b.c, eps, in, diff_scale, diff_bias);
  const float *src = in.src, *mean = in.mean, *diff_dst = in.diff_dst;
  const norm::Table& isa = norm::table_of(ctx.isa);
  const ScratchVector<float> r = inverse_deviations(b.c, eps, in.var);
  const auto settle = [&](int64_t c, uint8_t open) {
    settle_sums(b, c, src, mean[c], r[c], diff_dst, open, &diff_scale[c], &diff_bias[c]);
  };
  parallel_items(ctx, b.c, b.n * b.s, [&](int64_t begin, int64_t end) {
    if (b.s >= kShortSpan || b.s < 1) {
      for (int64_t c = begin; c < end; ++c) {
        settle(c, isa.grad_sums(src + c * b.s, diff_dst + c * b.s, b.n, b.c * b.s, b.s, mean[c], r[c], &diff_scale[c],
                                &diff_bias[c]));
      }
      return;
    }
    uint8_t open[norm::kColumns];
    for_each_group(b, begin, end, [&](int64_t c, int64_t here, norm::Interleaved v) {
      isa.grad_sums_interleaved(src + c * b.s, diff_dst + c * b.s, v, mean + c, &r[c], diff_scale + c, diff_bias + c,
                                open);
      for (int64_t i = 0; i < here; ++i) settle(c + i, open[i]);
    });
  });
}

void batch_norm_grad_data(const KernelContext& ctx, BatchNormShape b, float eps, const BatchNormGradInputs<float>& in,
                          const float* diff_scale, const float* diff_bias, float* diff_src) {
  if (ctx.isa == Isa::kReference) {
    return reference::batch_norm_grad_data(b, b.n * b.s, eps, in, diff_scale, diff_bias, diff_src);
  }
  const float *src = in.src, *mean = in.mean, *diff_dst = in.diff_dst;
  const norm::Table& isa = norm::table_of(ctx.isa);
  const ScratchVector<float> r = inverse_deviations(b.c, eps, in.var);
  ScratchVector<float> mean_dy(r.size()), mean_p(r.size()), k(r.size());
  const float count = static_cast<float>(b.n * b.s);
  for (int64_t c = 0; c < b.c; ++c) {
    mean_dy[c] = diff_bias[c] / count;
    mean_p[c] = diff_scale[c] / count;
    k[c] = in.scale[c] * r[c];
  }
  if (b.s >= kShortSpan) {
    return parallel_items(ctx, b.n * b.c, b.s, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = i % b.c, at = i * b.s;
        const norm::Channel channel{.mean = mean[c], .r = r[c], .a = mean_dy[c], .b = mean_p[c], .k = k[c]};
        isa.grad_data(b.s, src + at, diff_dst + at, channel, diff_src + at);
      }
    });
  }
  if (b.s < 1) return;
  parallel_items(ctx, b.n, b.c * b.s, [&](int64_t begin, int64_t end) {
    const BatchNormShape part{end - begin, b.c, b.s};
    const int64_t start = begin * b.c * b.s;
    for_each_group(part, 0, b.c, [&](int64_t c, int64_t, norm::Interleaved v) {
      const int64_t at = start + c * b.s;
      const norm::Channels channels{.mean = mean + c, .r = &r[c], .a = &mean_dy[c], .b = &mean_p[c], .k = &k[c]};
      isa.grad_data_interleaved(src + at, diff_dst + at, v, channels, diff_src + at);
    });
  });
}

void batch_norm_grad(const KernelContext& ctx, BatchNormShape b, float eps, const BatchNormGradInputs<float>& in,
                     float* diff_src, float* diff_scale, float* diff_bias) {
  batch_norm_grad_sums(ctx, b, eps, in, diff_scale, diff_bias);
  batch_norm_grad_data(ctx, b, eps, in, diff_scale, diff_bias, diff_src);
}

void batch_norm_running(const KernelContext&, int64_t c, int64_t count, float momentum, const float* running,
                        const float* current, float* dst) {
  reference::batch_norm_running(c, count, momentum, running, current, dst);
}
void batch_norm_running(const KernelContext&, int64_t c, int64_t count, double momentum, const double* running,
                        const double* current, double* dst) {
  reference::batch_norm_running(c, count, momentum, running, current, dst);
}

// float64: the specification, of some channels or images after the other.
void batch_norm_stats(const KernelContext& ctx, BatchNormShape b, const double* src, double* mean, double* var) {
  parallel_items(ctx, b.c, b.n * b.s, [=](int64_t begin, int64_t end) {
    reference::batch_norm_stats(b, end - begin, src + begin * b.s, mean + begin, var + begin);
  });
}

namespace {

// f(part, first channel, first element) over the whole batch: some images where a channel has few places, whose root
// serves all of them; else a plane, which is finished while it lies in cache.
template <class F>
void for_parts(const KernelContext& ctx, BatchNormShape b, F f) {
  if (ctx.isa == Isa::kReference) return f(b, 0, 0);
  if (b.s < kShortSpan) {
    return for_rows(ctx, b.n, b.c * b.s, b.c * b.s, [=](int64_t begin, int64_t end) {
      f(BatchNormShape{end - begin, b.c, b.s}, 0, begin * b.c * b.s);
    });
  }
  for_rows(ctx, b.n * b.c, b.s, b.s, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(BatchNormShape{1, 1, b.s}, i % b.c, i * b.s);
  });
}

}  // namespace

void batch_norm_apply(const KernelContext& ctx, BatchNormShape b, double eps, const double* src, const double* mean,
                      const double* var, const double* scale, const double* bias, double* dst) {
  for_parts(ctx, b, [=](BatchNormShape part, int64_t c, int64_t at) {
    reference::batch_norm_apply(part, eps, src + at, mean + c, var + c, scale + c, bias + c, dst + at);
  });
}

void batch_norm_grad_sums(const KernelContext& ctx, BatchNormShape b, double eps, const BatchNormGradInputs<double>& in,
                          double* diff_scale, double* diff_bias) {
  if (b.n * b.s == 0) {  // src and diff_dst may be null
    return reference::batch_norm_grad_sums(b, b.c, eps, in, diff_scale, diff_bias);
  }
  parallel_items(ctx, b.c, b.n * b.s, [=](int64_t begin, int64_t end) {
    const BatchNormGradInputs<double> part{.src = in.src + begin * b.s,
                                           .mean = in.mean + begin,
                                           .var = in.var + begin,
                                           .scale = nullptr,
                                           .diff_dst = in.diff_dst + begin * b.s};
    reference::batch_norm_grad_sums(b, end - begin, eps, part, diff_scale + begin, diff_bias + begin);
  });
}

void batch_norm_grad_data(const KernelContext& ctx, BatchNormShape b, double eps, const BatchNormGradInputs<double>& in,
                          const double* diff_scale, const double* diff_bias, double* diff_src) {
  for_parts(ctx, b, [=](BatchNormShape part, int64_t c, int64_t at) {
    const BatchNormGradInputs<double> of_part{.src = in.src + at,
                                              .mean = in.mean + c,
                                              .var = in.var + c,
                                              .scale = in.scale + c,
                                              .diff_dst = in.diff_dst + at};
    reference::batch_norm_grad_data(part, b.n * b.s, eps, of_part, diff_scale + c, diff_bias + c, diff_src + at);
  });
}

void batch_norm_grad(const KernelContext& ctx, BatchNormShape b, double eps, const BatchNormGradInputs<double>& in,
                     double* diff_src, double* diff_scale, double* diff_bias) {
  batch_norm_grad_sums(ctx, b, eps, in, diff_scale, diff_bias);
  batch_norm_grad_data(ctx, b, eps, in, diff_scale, diff_bias, diff_src);
}

}  // namespace isobit::kernels
