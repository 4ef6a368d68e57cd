// Convolution by its definition, in an order of its own: each output starts as its bias (or +0) and takes one term
// after another, taps (kh, kw) outermost and the channels of its group innermost, every product rounded and then added.
// No fma. Taps on padding are left out, so that a weight that is not finite makes no NaN there.
//
// Determinism class: a function of the operands alone; no library is asked. Error of a finite result: gamma_(k+1) times
// the sum of the magnitudes of its k terms and its bias. Computes every shape.
#pragma once

#include "isobit/kernels/vendor/algorithms/algorithm.h"

namespace isobit::kernels::algorithms {

class Direct final : public Algorithm {
 public:
  explicit Direct(const KernelContext& kernel) : pool_(*kernel.pool) {}
  std::string refuses(const ConvShape&) const override { return ""; }
  Status forward(const Call& call) override;

 private:
  ThreadPool& pool_;
};

}  // namespace isobit::kernels::algorithms
