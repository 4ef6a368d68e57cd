// The inner products of an arithmetic behind one interface: what differs between arithmetics and between platforms, and
// nothing else. Everything else (sums, functions, composites) is the same in all of them.
#pragma once

#include <string>

#include "isobit/base/status.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels {

// Operands and results as in matmul/matmul.h and conv/conv.h, T float or double; the determinism class is the
// implementation's. One call at a time. Errors are the implementation's too; after one the result must not be used.
// What computed a convolution, where an implementation chooses among several algorithms.
struct ConvKernel {
  std::string name;  // of the algorithm: "winograd4"; "own": the platform's usual one
  std::string why;   // the reason, where it is not the one that was asked for
};

template <class T>
class InnerProducts {
 public:
  virtual ~InnerProducts() = default;
  virtual Status matmul(const MatmulArgs<T>& args) = 0;
  virtual Status conv_forward(const ConvShape& shape, const T* src, const T* weights, const T* bias, T* dst) = 0;
  virtual Status conv_grad_src(const ConvShape& shape, const T* diff_dst, const T* weights, T* diff_src) = 0;
  virtual Status conv_grad_weights(const ConvShape& shape, const T* src, const T* diff_dst, T* diff_weights) = 0;

  // Of the last conv_forward that returned no error. An observer asks when the node has run. Empty before the first
  // one, and for an implementation that has one algorithm only.
  virtual ConvKernel last_conv_forward() const { return {}; }
};

}  // namespace isobit::kernels
