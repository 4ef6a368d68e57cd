// The three products as problems of the common engine (matmul/gemm.h).
#include "isobit/kernels/conv/conv.h"

#include <algorithm>
#include <vector>

#include "isobit/kernels/conv/missing_taps.h"
#include "isobit/kernels/conv/reference.h"
#include "isobit/kernels/matmul/gemm.h"

namespace isobit::kernels {
namespace {

using gemm::Operand;
using gemm::OperandKind;
using gemm::Problem;
using gemm::Tap;

// Every tap, displaced as the forward convolution reads it.
std::vector<Tap> forward_taps(const ConvShape& s) {
  std::vector<Tap> taps;
  for (int64_t y = 0; y < s.kh; ++y) {
    for (int64_t x = 0; x < s.kw; ++x) {
      taps.push_back({y * s.dilation_h - s.pad_top, x * s.dilation_w - s.pad_left, y * s.kw + x});
    }
  }
  return taps;
}

// The windows of the forward convolution over src, one group being one batch entry.
template <class T>
Operand<T> windows_of_src(const ConvShape& s, OperandKind kind, const T* src, const std::vector<Tap>& taps) {
  Operand<T> op;
  op.kind = kind;
  op.data = src;
  op.channels = s.ic / s.groups;
  op.channel_stride = s.ih * s.iw;
  op.batch_stride = op.channels * op.channel_stride;
  op.image_stride = s.ic * op.channel_stride;
  op.taps = taps.data();
  op.tap_count = static_cast<int64_t>(taps.size());
  op.plane_h = s.ih;
  op.plane_w = s.iw;
  op.grid_h = s.oh();
  op.grid_w = s.ow();
  op.step_h = s.stride_h;
  op.step_w = s.stride_w;
  return op;
}

// One of the two channel axes of the weights of a group.
struct Axis {
  int64_t size, stride;
};

// The weights as a matrix with a row for each entry of `rows` and its columns in channel order over `channels`. With
// one tap that is the original, possibly transposed; otherwise a copy, made once for each call and thread-locally.
template <class T>
Operand<T> ordered_weights(const KernelContext& ctx, const ConvShape& s, const T* weights, Axis rows, Axis channels,
                           const std::vector<Tap>& taps) {
  const auto tap_count = static_cast<int64_t>(taps.size());
  Operand<T> op;
  if (s.kh * s.kw == 1) {
    op.data = weights;
    op.batch_stride = rows.size * channels.size;
    op.i_stride = rows.stride;
    op.k_stride = channels.stride;
    op.k_period = channels.size;
    return op;
  }
  const int64_t terms = channels.size * tap_count, group_size = rows.size * channels.size * s.kh * s.kw;
  T* matrix = static_cast<T*>(
      gemm::scratch(gemm::Slot::kWeights, static_cast<size_t>(s.groups * rows.size * terms + 1) * sizeof(T)));
  const int64_t grain = 1 + (1 << 14) / std::max<int64_t>(1, terms);
  ctx.pool->parallel_for(s.groups * rows.size, grain, [&](int64_t begin, int64_t end) {
    T* to = matrix + begin * terms;
    for (int64_t row = begin; row < end; ++row) {
      const T* from = weights + row / rows.size * group_size + row % rows.size * rows.stride;
      for (int64_t first = 0; first < channels.size; first += kChannelBlock) {
        const int64_t last = std::min(first + kChannelBlock, channels.size);
        for (const Tap& tap : taps) {
          for (int64_t c = first; c < last; ++c) *to++ = from[c * channels.stride + tap.index];
        }
      }
    }
  });
  op.data = matrix;
  op.batch_stride = rows.size * terms;
  op.i_stride = terms;
  op.k_stride = 1;
  op.k_period = std::max<int64_t>(1, terms);
  return op;
}

// taps: how many take part; the chunk is counted in channel blocks of the whole kernel.
gemm::ChunkPlan channel_plan(const ConvShape& s, int64_t channels, int64_t taps) {
  const int64_t chunk = channel_blocks_per_chunk(s.kh * s.kw) * kChannelBlock * taps;
  return {1, channels * taps, std::max<int64_t>(1, chunk)};
}

template <class T>
void forward(const KernelContext& ctx, const ConvShape& s, const T* src, const T* weights, const T* bias, T* dst) {
  if (ctx.isa == Isa::kReference) {
    reference::conv_forward(s, src, weights, bias, dst);
    return;
  }
  if (s.n == 0) return;
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, taps = s.kh * s.kw, area = s.oh() * s.ow();
  const std::vector<Tap> tap_list = forward_taps(s);
  Problem<T> p;
  p.m = ocg;
  p.n = s.n * area;
  p.plan = channel_plan(s, icg, taps);
  p.left = ordered_weights(ctx, s, weights, {ocg, icg * taps}, {icg, taps}, tap_list);
  p.right = windows_of_src(s, OperandKind::kWindows, src, tap_list);
  p.out.data = dst;
  p.out.batch_stride = ocg * area;
  p.out.row_stride = area;
  p.out.image_stride = s.oc * area;
  p.out.columns = area;
  p.bias = bias;
  p.bias_per_row = true;
  p.bias_batch_stride = ocg;
  p.batch = s.groups;
  gemm::run(ctx, p);
}

// One axis of the positions of src with the same remainder by the stride: they share the taps that hit an output.
struct Phase {
  int64_t first, stride, count;
  int64_t kernel, dilation, pad;

  bool hits(int64_t tap) const { return (first + pad - tap * dilation) % stride == 0; }
  // Added to a position's index in the phase, the row or column of diff_dst under the tap. A tap that hits none is
  // displaced out of the plane.
  int64_t displacement(int64_t tap) const { return hits(tap) ? (first + pad - tap * dilation) / stride : -count; }
};

// The taps that hit no output are left out if `skip`, else they take part as +0.
template <class T>
void grad_src_phase(const KernelContext& ctx, const ConvShape& s, const T* diff_dst, const T* weights, T* diff_src,
                    const Phase& v, const Phase& h, bool skip) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, taps = s.kh * s.kw, area = s.oh() * s.ow();
  std::vector<Tap> tap_list;
  for (int64_t y = 0; y < s.kh; ++y) {
    for (int64_t x = 0; x < s.kw; ++x) {
      if (skip && !(v.hits(y) && h.hits(x))) continue;
      tap_list.push_back({v.displacement(y), h.displacement(x), y * s.kw + x});
    }
  }
  Problem<T> p;
  p.m = icg;
  p.n = s.n * v.count * h.count;
  p.plan = channel_plan(s, ocg, static_cast<int64_t>(tap_list.size()));
  p.left = ordered_weights(ctx, s, weights, {icg, taps}, {ocg, icg * taps}, tap_list);
  p.right.kind = OperandKind::kWindows;
  p.right.data = diff_dst;
  p.right.channels = ocg;
  p.right.channel_stride = area;
  p.right.batch_stride = ocg * area;
  p.right.image_stride = s.oc * area;
  p.right.taps = tap_list.data();
  p.right.tap_count = static_cast<int64_t>(tap_list.size());
  p.right.plane_h = s.oh();
  p.right.plane_w = s.ow();
  p.right.grid_h = v.count;
  p.right.grid_w = h.count;
  const bool whole = v.stride == 1 && h.stride == 1;
  p.out.data = diff_src + v.first * s.iw + h.first;
  p.out.batch_stride = icg * s.ih * s.iw;
  p.out.row_stride = s.ih * s.iw;
  p.out.image_stride = s.ic * s.ih * s.iw;
  p.out.lines = whole ? 1 : v.count;
  p.out.line_stride = v.stride * s.iw;
  p.out.columns = whole ? v.count * h.count : h.count;
  p.out.column_stride = h.stride;
  p.batch = s.groups;
  gemm::run(ctx, p);
}

template <class T>
void grad_src(const KernelContext& ctx, const ConvShape& s, const T* diff_dst, const T* weights, T* diff_src) {
  if (ctx.isa == Isa::kReference) {
    reference::conv_grad_src(s, diff_dst, weights, diff_src);
    return;
  }
  if (s.n == 0) return;  // no images: nothing to write, and no array to step over
  const bool skip = may_skip_missing_taps(s, weights);
  for (int64_t y = 0; y < std::min(s.stride_h, s.ih); ++y) {
    const Phase v{y, s.stride_h, (s.ih - y + s.stride_h - 1) / s.stride_h, s.kh, s.dilation_h, s.pad_top};
    for (int64_t x = 0; x < std::min(s.stride_w, s.iw); ++x) {
      const Phase h{x, s.stride_w, (s.iw - x + s.stride_w - 1) / s.stride_w, s.kw, s.dilation_w, s.pad_left};
      grad_src_phase(ctx, s, diff_dst, weights, diff_src, v, h, skip);
    }
  }
}

gemm::ChunkPlan image_plan(const ConvShape& s) {
  const int64_t area = s.oh() * s.ow();
  if (area <= 128) return {1, s.n * area, 256 / area * area};
  return {s.n, area, std::max<int64_t>(1, 256 / s.ow()) * s.ow()};
}

template <class T>
void grad_weights(const KernelContext& ctx, const ConvShape& s, const T* src, const T* diff_dst, T* diff_weights) {
  if (ctx.isa == Isa::kReference) {
    reference::conv_grad_weights(s, src, diff_dst, diff_weights);
    return;
  }
  if (s.n == 0) {
    std::fill(diff_weights, diff_weights + s.oc * (s.ic / s.groups) * s.kh * s.kw, T(0));
    return;
  }
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, taps = s.kh * s.kw, area = s.oh() * s.ow();
  const std::vector<Tap> tap_list = forward_taps(s);
  Problem<T> p;
  p.m = ocg;
  p.n = icg * taps;
  p.plan = image_plan(s);
  p.left.data = diff_dst;
  p.left.batch_stride = ocg * area;
  p.left.i_stride = area;
  p.left.k_stride = 1;
  p.left.k_period = area;
  p.left.k_period_stride = s.oc * area;
  p.right = windows_of_src(s, OperandKind::kWindowRows, src, tap_list);
  p.out.data = diff_weights;
  p.out.batch_stride = ocg * icg * taps;
  p.out.row_stride = icg * taps;
  p.out.columns = icg * taps;
  p.batch = s.groups;
  gemm::run(ctx, p);
}

}  // namespace

void conv_forward(const KernelContext& ctx, const ConvShape& shape, const float* src, const float* weights,
                  const float* bias, float* dst) {
  forward(ctx, shape, src, weights, bias, dst);
}
void conv_forward(const KernelContext& ctx, const ConvShape& shape, const double* src, const double* weights,
                  const double* bias, double* dst) {
  forward(ctx, shape, src, weights, bias, dst);
}
void conv_grad_src(const KernelContext& ctx, const ConvShape& shape, const float* diff_dst, const float* weights,
                   float* diff_src) {
  grad_src(ctx, shape, diff_dst, weights, diff_src);
}
void conv_grad_src(const KernelContext& ctx, const ConvShape& shape, const double* diff_dst, const double* weights,
                   double* diff_src) {
  grad_src(ctx, shape, diff_dst, weights, diff_src);
}
void conv_grad_weights(const KernelContext& ctx, const ConvShape& shape, const float* src, const float* diff_dst,
                       float* diff_weights) {
  grad_weights(ctx, shape, src, diff_dst, diff_weights);
}
void conv_grad_weights(const KernelContext& ctx, const ConvShape& shape, const double* src, const double* diff_dst,
                       double* diff_weights) {
  grad_weights(ctx, shape, src, diff_dst, diff_weights);
}

}  // namespace isobit::kernels
