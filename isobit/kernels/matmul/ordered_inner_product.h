// The chunk and block sums of an ordered inner product, one term at a time: the specification in executable form, used
// by the references of matmul and convolution.
#pragma once

#include "isobit/kernels/matmul/matmul.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/fma.h"

namespace isobit::kernels::reference {

inline float fused(float a, float b, float c) { return numerics::fma_f32(a, b, c); }
inline double fused(double a, double b, double c) { return numerics::fma_f64(a, b, c); }

template <class T>
class OrderedInnerProduct {
 public:
  void term(T a, T b) { chunk_ = fused(a, b, chunk_); }

  void end_chunk() {
    block_ = block_ + chunk_;
    chunk_ = T(0);
    if (++chunks_ == kChunksPerBlock) end_block();
  }

  // REQUIRES that the last term was followed by end_chunk().
  T finish(const T* bias) {
    end_block();
    if (bias) result_ = result_ + *bias;
    return numerics::canonical(result_);
  }

 private:
  // Ending an empty block adds +0 to a result that is never -0: no change.
  void end_block() {
    result_ = result_ + block_;
    block_ = T(0);
    chunks_ = 0;
  }

  T chunk_ = 0, block_ = 0, result_ = 0;
  int64_t chunks_ = 0;
};

}  // namespace isobit::kernels::reference
