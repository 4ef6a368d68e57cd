// The inner products of an arithmetic behind one interface: what differs between arithmetics and between platforms, and
// nothing else. Everything else (sums, functions, composites) is the same in all of them.
#pragma once

#include "isobit/base/status.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels {

// Operands and results as in matmul/matmul.h and conv/conv.h, T float or double; the determinism class is the
// implementation's. One call at a time. Errors are the implementation's too; after one the result must not be used.
template <class T>
class InnerProducts {
 public:
  virtual ~InnerProducts() = default;
  virtual Status matmul(const MatmulArgs<T>& args) = 0;
  virtual Status conv_forward(const ConvShape& shape, const T* src, const T* weights, const T* bias, T* dst) = 0;
  virtual Status conv_grad_src(const ConvShape& shape, const T* diff_dst, const T* weights, T* diff_src) = 0;
  virtual Status conv_grad_weights(const ConvShape& shape, const T* src, const T* diff_dst, T* diff_weights) = 0;
};

}  // namespace isobit::kernels
