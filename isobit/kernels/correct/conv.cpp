#include "isobit/kernels/correct/conv.h"

#include <utility>

#include "isobit/base/text.h"
#include "isobit/kernels/correct/engine.h"
#include "isobit/kernels/correct/reference.h"
#include "isobit/kernels/correct/windows.h"

namespace isobit::kernels::correct {
namespace {

void count_elements(const CorrectContext& ctx, int64_t elements) {
  if (ctx.statistics != nullptr) ctx.statistics->elements += elements;
}

// Axes hold 32-bit places, and products of extents must not overflow.
Status require_extents(const ConvShape& s) {
  for (const auto& [name, extent] :
       {std::pair("images", s.n), std::pair("input channels", s.ic), std::pair("rows", s.ih),
        std::pair("columns", s.iw), std::pair("output channels", s.oc), std::pair("rows of the kernel", s.kh),
        std::pair("columns of the kernel", s.kw), std::pair("output rows", s.oh()),
        std::pair("output columns", s.ow())}) {
    if (extent <= kMostTerms) continue;
    return unreadable(text_of("a convolution with ", extent, " ", name, "; correct-1 computes up to ", kMostTerms));
  }
  return {};
}

Axis window_rows(const ConvShape& s) { return Axis::windows(s.kh, s.oh(), s.ih, s.stride_h, s.pad_top, s.dilation_h); }
Axis window_columns(const ConvShape& s) {
  return Axis::windows(s.kw, s.ow(), s.iw, s.stride_w, s.pad_left, s.dilation_w);
}

// Where a group's elements begin; an empty array is null and has no such place.
template <class T>
T* at(T* data, int64_t offset) {
  return data != nullptr ? data + offset : nullptr;
}

}  // namespace

// Per group: weights [oc, taps of ic] times windows of src [taps of ic, positions of dst].
Status conv_forward(const CorrectContext& ctx, const ConvShape& s, const float* src, const float* weights,
                    const float* bias, float* dst) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, area = s.oh() * s.ow();
  if (ctx.kernel.isa == Isa::kReference) {
    reference::conv_forward(s, src, weights, bias, dst);
    count_elements(ctx, s.n * s.oc * area);
    return {};
  }
  ISOBIT_RETURN_IF_ERROR(require_extents(s));
  const int64_t k = icg * s.kh * s.kw;
  for (int64_t g = 0; g < s.groups; ++g) {
    WindowMatrix windows(at(src, g * icg * s.ih * s.iw), s.n, icg, s.ic, s.ih, s.iw, window_rows(s), window_columns(s));
    const StridedOperand left(at(weights, g * ocg * k), k, k, 1);
    const PositionsOperand right(ctx, windows, k);
    Problem p{ocg, s.n * area, k, &left, &right, {at(dst, g * ocg * area), area, area, s.oc * area}};
    p.row_bias = bias != nullptr ? bias + g * ocg : nullptr;
    ISOBIT_RETURN_IF_ERROR(run(ctx, p));
  }
  return {};
}

// Per group: weights [ic, taps of oc] times the elements of diff_dst [taps of oc, positions of src].
Status conv_grad_src(const CorrectContext& ctx, const ConvShape& s, const float* diff_dst, const float* weights,
                     float* diff_src) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, area = s.ih * s.iw, taps = s.kh * s.kw;
  if (ctx.kernel.isa == Isa::kReference) {
    reference::conv_grad_src(s, diff_dst, weights, diff_src);
    count_elements(ctx, s.n * s.ic * area);
    return {};
  }
  ISOBIT_RETURN_IF_ERROR(require_extents(s));
  const int64_t k = ocg * taps;
  for (int64_t g = 0; g < s.groups; ++g) {
    WindowMatrix windows(at(diff_dst, g * ocg * s.oh() * s.ow()), s.n, ocg, s.oc, s.oh(), s.ow(),
                         Axis::adjoint(s.kh, s.ih, s.oh(), s.stride_h, s.pad_top, s.dilation_h),
                         Axis::adjoint(s.kw, s.iw, s.ow(), s.stride_w, s.pad_left, s.dilation_w));
    const StridedOperand left(at(weights, g * ocg * icg * taps), k, taps, taps, icg * taps, 1);
    const PositionsOperand right(ctx, windows, k);
    const Target out = {at(diff_src, g * icg * area), area, area, s.ic * area};
    ISOBIT_RETURN_IF_ERROR(run(ctx, {icg, s.n * area, k, &left, &right, out}));
  }
  return {};
}

// Per group: diff_dst [oc, positions of dst] times windows of src [positions of dst, taps of ic].
Status conv_grad_weights(const CorrectContext& ctx, const ConvShape& s, const float* src, const float* diff_dst,
                         float* diff_weights) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, area = s.oh() * s.ow();
  const int64_t n = icg * s.kh * s.kw;
  if (ctx.kernel.isa == Isa::kReference) {
    reference::conv_grad_weights(s, src, diff_dst, diff_weights);
    count_elements(ctx, s.oc * n);
    return {};
  }
  ISOBIT_RETURN_IF_ERROR(require_extents(s));
  const int64_t k = s.n * area;
  for (int64_t g = 0; g < s.groups; ++g) {
    WindowMatrix windows(at(src, g * icg * s.ih * s.iw), s.n, icg, s.ic, s.ih, s.iw, window_rows(s), window_columns(s));
    const StridedOperand left(at(diff_dst, g * ocg * area), k, area, area, s.oc * area, 1);
    const TapsOperand right(ctx, windows);
    ISOBIT_RETURN_IF_ERROR(run(ctx, {ocg, n, k, &left, &right, {at(diff_weights, g * ocg * n), n, n, 0}}));
  }
  return {};
}

}  // namespace isobit::kernels::correct
