// The inner products of an arithmetic behind one interface: what differs between `ordered-1` and `correct-1`, and
// nothing else. Everything else (sums, functions, composites) is the same in both.
#pragma once

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels {

// Operands and results as in matmul/matmul.h and conv/conv.h; the determinism class is the implementation's.
// One call at a time.
class InnerProducts {
 public:
  virtual ~InnerProducts() = default;
  virtual void matmul(const MatmulArgs<float>& args) = 0;
  virtual void conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias,
                            float* dst) = 0;
  virtual void conv_grad_src(const ConvShape& shape, const float* diff_dst, const float* weights, float* diff_src) = 0;
  virtual void conv_grad_weights(const ConvShape& shape, const float* src, const float* diff_dst,
                                 float* diff_weights) = 0;
};

}  // namespace isobit::kernels
