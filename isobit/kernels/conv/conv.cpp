// Convolution and its gradients as products, which matmul/gemm.h computes.
#include "isobit/kernels/conv/conv.h"

#include <algorithm>

#include "isobit/kernels/conv/reference.h"
#include "isobit/kernels/matmul/gemm.h"
#include "isobit/kernels/product/geometry.h"

namespace isobit::kernels {
namespace {

using product::Direction;
using product::product_of;

template <class T>
void forward(const KernelContext& ctx, const ConvShape& s, const T* src, const T* weights, const T* bias, T* dst,
             KeptPanels* kept, const Ending<T>* ending) {
  if (ctx.isa == Isa::kReference) {
    reference::conv_forward(s, src, weights, bias, dst);
    const int64_t outputs = ending != nullptr ? s.n * s.oc * s.oh() * s.ow() : 0;
    for (int64_t i = 0; i < outputs; ++i) dst[i] = ending->of(dst[i], i);
  } else if (s.n > 0) {
    product::Product<T> product = product_of(s, Direction::kForward, src, weights, bias, dst, kept);
    product.ending = ending;
    gemm::run(ctx, product);
  }
}

template <class T>
void grad_src(const KernelContext& ctx, const ConvShape& s, const T* diff_dst, const T* weights, T* diff_src) {
  if (ctx.isa == Isa::kReference) {
    reference::conv_grad_src(s, diff_dst, weights, diff_src);
  } else if (s.n > 0) {
    gemm::run(ctx, product_of<T>(s, Direction::kGradSrc, diff_dst, weights, nullptr, diff_src));
  }
}

template <class T>
void grad_weights(const KernelContext& ctx, const ConvShape& s, const T* src, const T* diff_dst, T* diff_weights) {
  if (ctx.isa == Isa::kReference) {
    reference::conv_grad_weights(s, src, diff_dst, diff_weights);
  } else if (s.n > 0) {
    gemm::run(ctx, product_of<T>(s, Direction::kGradWeights, src, diff_dst, nullptr, diff_weights));
  } else {
    // Without images the sums have no terms: +0. The other two directions then have no outputs.
    std::fill(diff_weights, diff_weights + s.oc * (s.ic / s.groups) * s.kh * s.kw, T(0));
  }
}

}  // namespace

void conv_forward(const KernelContext& ctx, const ConvShape& shape, const float* src, const float* weights,
                  const float* bias, float* dst, KeptPanels* kept, const Ending<float>* ending) {
  forward(ctx, shape, src, weights, bias, dst, kept, ending);
}
void conv_forward(const KernelContext& ctx, const ConvShape& shape, const double* src, const double* weights,
                  const double* bias, double* dst, KeptPanels* kept, const Ending<double>* ending) {
  forward(ctx, shape, src, weights, bias, dst, kept, ending);
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
