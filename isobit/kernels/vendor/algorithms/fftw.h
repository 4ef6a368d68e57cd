// FFTW in single precision, opened by path and never linked: real transforms of planes and back.
//
// Plans are made by FFTW's estimate, which measures nothing, so that the same version on the same processor makes the
// same plan for the same size. Source: Frigo and Johnson, The Design and Implementation of FFTW3, Proc. IEEE 2005.
#pragma once

#include <complex>
#include <map>
#include <memory>
#include <string>

#include "isobit/base/status.h"

namespace isobit::kernels::algorithms {

class Fftw {
 public:
  // kUnavailable where it is not installed, with the package that has it.
  static Expected<std::shared_ptr<Fftw>> open();
  virtual ~Fftw() = default;

  virtual std::string version() const = 0;  // "fftw-3.3.10-sse2-avx-avx2-avx2_128"

  // A plan of planes of height x width, either extent at least 1 and below 2^31. Kept for the life of this object; the
  // pointers given to it lie at multiples of 64 bytes. Any number of threads may run plans, one at a time makes them.
  class Plan {
   public:
    virtual ~Plan() = default;
    // [height][width] to [height][width / 2 + 1]; `real` is left as it is.
    virtual void forward(const float* real, std::complex<float>* frequencies) const = 0;
    // The other way, times height * width; `frequencies` is overwritten.
    virtual void backward(std::complex<float>* frequencies, float* real) const = 0;
  };
  // kUnavailable where FFTW makes none.
  virtual Expected<const Plan*> plan(int64_t height, int64_t width) = 0;
};

}  // namespace isobit::kernels::algorithms
