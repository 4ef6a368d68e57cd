// Convolution as a matrix product whose right side is never laid out as a whole: tiles of 256 positions are gathered
// when they are needed, 128 terms at a time, and the platform's library multiplies each such tile by the weights.
//
// Terms are in the order (kh, kw, channel of the group), unlike those of im2col, and the sum is split after every 128
// of them: products of the parts are added in ascending order, and then the bias. How the library adds within a part is
// the library's. Taps on padding take part as +0. Error of a finite result: gamma_(k+2) times the sum of the magnitudes
// of its k terms and its bias, given that the library's products keep gamma_k. Computes every shape but those whose
// weights do not fit the workspace.
#pragma once

#include <memory>

#include "isobit/kernels/product/matrix_product.h"
#include "isobit/kernels/vendor/algorithms/algorithm.h"

namespace isobit::kernels::algorithms {

class ImplicitGemm final : public Algorithm {
 public:
  static constexpr int64_t kColumns = 256, kTerms = 128;

  // REQUIRES a product of float32.
  ImplicitGemm(std::shared_ptr<MatrixProduct> product, const KernelContext& kernel)
      : product_(std::move(product)), pool_(*kernel.pool) {}
  std::string refuses(const ConvShape& shape) const override;
  Status forward(const Call& call) override;

 private:
  std::shared_ptr<MatrixProduct> product_;
  ThreadPool& pool_;
};

}  // namespace isobit::kernels::algorithms
