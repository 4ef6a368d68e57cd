#include "isobit/kernels/correct/conv.h"

#include <utility>

#include "isobit/base/text.h"
#include "isobit/kernels/correct/engine.h"
#include "isobit/kernels/correct/reference.h"

namespace isobit::kernels::correct {
namespace {

using product::Direction;

void count_elements(const CorrectContext& ctx, int64_t elements) {
  if (ctx.statistics != nullptr) ctx.statistics->elements += elements;
}

// Products of extents must not overflow.
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

// Every group in turn.
Status run_groups(const CorrectContext& ctx, const ConvShape& s, const product::Product<float>& product) {
  ISOBIT_RETURN_IF_ERROR(require_extents(s));
  for (int64_t g = 0; g < s.groups; ++g) ISOBIT_RETURN_IF_ERROR(run(ctx, batch_of(product, g)));
  return {};
}

}  // namespace

Status conv_forward(const CorrectContext& ctx, const ConvShape& s, const float* src, const float* weights,
                    const float* bias, float* dst) {
  if (ctx.kernel.isa == Isa::kReference) {
    reference::conv_forward(s, src, weights, bias, dst);
    count_elements(ctx, s.n * s.oc * s.oh() * s.ow());
    return {};
  }
  return run_groups(ctx, s, product::product_of(s, Direction::kForward, src, weights, bias, dst));
}

Status conv_grad_src(const CorrectContext& ctx, const ConvShape& s, const float* diff_dst, const float* weights,
                     float* diff_src) {
  if (ctx.kernel.isa == Isa::kReference) {
    reference::conv_grad_src(s, diff_dst, weights, diff_src);
    count_elements(ctx, s.n * s.ic * s.ih * s.iw);
    return {};
  }
  return run_groups(ctx, s, product::product_of<float>(s, Direction::kGradSrc, diff_dst, weights, nullptr, diff_src));
}

Status conv_grad_weights(const CorrectContext& ctx, const ConvShape& s, const float* src, const float* diff_dst,
                         float* diff_weights) {
  if (ctx.kernel.isa == Isa::kReference) {
    reference::conv_grad_weights(s, src, diff_dst, diff_weights);
    count_elements(ctx, s.oc * (s.ic / s.groups) * s.kh * s.kw);
    return {};
  }
  return run_groups(ctx, s,
                    product::product_of<float>(s, Direction::kGradWeights, src, diff_dst, nullptr, diff_weights));
}

}  // namespace isobit::kernels::correct
