// `correct-1` as the inner products of a run: any float64 product behind it, one result.
#pragma once

#include <memory>

#include "isobit/kernels/correct/conv.h"
#include "isobit/kernels/correct/integer/backend.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/watch.h"
#include "isobit/kernels/inner_products.h"

namespace isobit::kernels::correct {

class CorrectInnerProducts final : public InnerProducts<float> {
 public:
  // kernel.isa == kReference: the scalar specification, without the product (which may then be null).
  // integer: computes what it takes (integer/backend.h), or null. Errors of the calls are those of correct/matmul.h; a
  // sample of all outputs is looked at (watch.h).
  CorrectInnerProducts(const KernelContext& kernel, std::unique_ptr<MatrixProduct> product,
                       std::unique_ptr<integer::Backend> integer, const Instruments& instruments = {});
  CorrectInnerProducts(const KernelContext& kernel, std::unique_ptr<MatrixProduct> product,
                       const Instruments& instruments = {})
      : CorrectInnerProducts(kernel, std::move(product), nullptr, instruments) {}

  Status matmul(const MatmulArgs<float>& args) override;
  Status conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias,
                      float* dst) override;
  Status conv_grad_src(const ConvShape& shape, const float* diff_dst, const float* weights, float* diff_src) override;
  Status conv_grad_weights(const ConvShape& shape, const float* src, const float* diff_dst,
                           float* diff_weights) override;

  // Of all calls so far.
  const Statistics& statistics() const { return statistics_; }

 private:
  CorrectContext context();

  KernelContext kernel_;
  std::unique_ptr<MatrixProduct> product_;
  std::unique_ptr<integer::Backend> integer_;
  Workspace workspace_;
  Statistics statistics_;
  Instruments instruments_;
  Watch watch_;
};

}  // namespace isobit::kernels::correct
