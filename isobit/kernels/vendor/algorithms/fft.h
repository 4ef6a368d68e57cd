// Convolution as a product of spectra: planes of src with their padding and the taps as planes of the same size are
// transformed, multiplied channel by channel (the taps' spectrum conjugated, for a correlation) and transformed back.
// Sizes go up to the next product of 2, 3, 5 and 7, which leaves every output free of wrapping.
//
// Order: channels ascending, from +0; real part re += (a.re b.re + a.im b.im), imaginary part im += (a.im b.re -
// a.re b.im), no fma; then the transform back, one division by the size, one addition of the bias. What the library
// does within a transform is the library's. One number of an image that is not finite reaches all outputs of the image.
//
// Error: no bound element by element, as every output takes rounding errors of the whole plane. In the test's shapes it
// stays below 4 u log2(size) times the sum over channels of the Euclidean norms of plane and taps multiplied, u =
// 2^-24; measured, not proved. Computes stride 1 in one group, any taps, padding and dilation, where the transforms of
// one image fit the workspace.
#pragma once

#include <memory>

#include "isobit/kernels/vendor/algorithms/algorithm.h"
#include "isobit/kernels/vendor/algorithms/fftw.h"

namespace isobit::kernels::algorithms {

class Fft final : public Algorithm {
 public:
  Fft(std::shared_ptr<Fftw> library, const KernelContext& kernel) : library_(std::move(library)), pool_(*kernel.pool) {}
  std::string refuses(const ConvShape& shape) const override;
  // kUnavailable where a transform left another floating-point environment (base/fp_env.h) on a thread.
  Status forward(const Call& call) override;

 private:
  std::shared_ptr<Fftw> library_;
  ThreadPool& pool_;
};

// The least number not below n, n >= 1, without a prime factor above 7.
int64_t transform_size(int64_t n);

}  // namespace isobit::kernels::algorithms
