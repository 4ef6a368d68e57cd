// Convolution by Winograd's F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3) (winograd_tiles.h: transforms, order, error bound), in
// two forms.
//
// Fused: 16 tiles at a time are transformed, multiplied and transformed back, and nothing else is ever laid out. Its
// sum over channels is in ascending order, every product rounded and then added: no library is asked, and the result is
// a function of the operands alone.
//
// Non-fused: all tiles are transformed (as many of them as the workspace holds, where it does not hold all); then the
// platform's library multiplies (m + 2)^2 pairs of matrices, channels being what it sums over; then all are transformed
// back. Its bits are the fused form's where the library adds over channels in that order without fma, as with a single
// channel; else they are others.
//
// Both compute 3 x 3 taps of stride 1 and dilation 1 in one group, any padding.
#pragma once

#include <memory>

#include "isobit/kernels/product/matrix_product.h"
#include "isobit/kernels/vendor/algorithms/algorithm.h"

namespace isobit::kernels::algorithms {

// kOutputs: 2 or 4.
template <int kOutputs>
class WinogradFused final : public Algorithm {
 public:
  explicit WinogradFused(const KernelContext& kernel) : pool_(*kernel.pool) {}
  std::string refuses(const ConvShape& shape) const override;
  Status forward(const Call& call) override;

 private:
  ThreadPool& pool_;
};

template <int kOutputs>
class WinogradNonFused final : public Algorithm {
 public:
  // REQUIRES a product of float32.
  WinogradNonFused(std::shared_ptr<MatrixProduct> product, const KernelContext& kernel)
      : product_(std::move(product)), pool_(*kernel.pool) {}
  std::string refuses(const ConvShape& shape) const override;
  Status forward(const Call& call) override;

 private:
  std::shared_ptr<MatrixProduct> product_;
  ThreadPool& pool_;
};

extern template class WinogradFused<2>;
extern template class WinogradFused<4>;
extern template class WinogradNonFused<2>;
extern template class WinogradNonFused<4>;

}  // namespace isobit::kernels::algorithms
