#include "isobit/kernels/conv/conv.h"

#include "isobit/kernels/conv/reference.h"

namespace isobit::kernels {

void conv_forward(const KernelContext&, const ConvShape& shape, const float* src, const float* weights,
                  const float* bias, float* dst) {
  reference::conv_forward(shape, src, weights, bias, dst);
}
void conv_forward(const KernelContext&, const ConvShape& shape, const double* src, const double* weights,
                  const double* bias, double* dst) {
  reference::conv_forward(shape, src, weights, bias, dst);
}
void conv_grad_src(const KernelContext&, const ConvShape& shape, const float* diff_dst, const float* weights,
                   float* diff_src) {
  reference::conv_grad_src(shape, diff_dst, weights, diff_src);
}
void conv_grad_src(const KernelContext&, const ConvShape& shape, const double* diff_dst, const double* weights,
                   double* diff_src) {
  reference::conv_grad_src(shape, diff_dst, weights, diff_src);
}
void conv_grad_weights(const KernelContext&, const ConvShape& shape, const float* src, const float* diff_dst,
                       float* diff_weights) {
  reference::conv_grad_weights(shape, src, diff_dst, diff_weights);
}
void conv_grad_weights(const KernelContext&, const ConvShape& shape, const double* src, const double* diff_dst,
                       double* diff_weights) {
  reference::conv_grad_weights(shape, src, diff_dst, diff_weights);
}

}  // namespace isobit::kernels
