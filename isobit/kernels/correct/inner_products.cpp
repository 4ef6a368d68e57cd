#include "isobit/kernels/correct/inner_products.h"

namespace isobit::kernels::correct {

CorrectInnerProducts::CorrectInnerProducts(const KernelContext& kernel, std::unique_ptr<MatrixProduct> product,
                                           std::unique_ptr<integer::Backend> integer, const Instruments& instruments)
    : kernel_(kernel), product_(std::move(product)), integer_(std::move(integer)), instruments_(instruments) {}

CorrectContext CorrectInnerProducts::context() {
  return {kernel_, product_.get(), &workspace_, &statistics_, instruments_, &watch_, integer_.get()};
}

Status CorrectInnerProducts::matmul(const MatmulArgs<float>& args) { return correct::matmul(context(), args); }

Status CorrectInnerProducts::conv_forward(const ConvShape& shape, const float* src, const float* weights,
                                          const float* bias, float* dst) {
  return correct::conv_forward(context(), shape, src, weights, bias, dst);
}

Status CorrectInnerProducts::conv_grad_src(const ConvShape& shape, const float* diff_dst, const float* weights,
                                           float* diff_src) {
  return correct::conv_grad_src(context(), shape, diff_dst, weights, diff_src);
}

Status CorrectInnerProducts::conv_grad_weights(const ConvShape& shape, const float* src, const float* diff_dst,
                                               float* diff_weights) {
  return correct::conv_grad_weights(context(), shape, src, diff_dst, diff_weights);
}

}  // namespace isobit::kernels::correct
