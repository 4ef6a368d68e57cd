// Local response normalisation (ONNX LRN-13) of [n, c, s]: n images, c channels, s places.
//
// Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", 2012.
// Each written operation is rounded once, nothing is contracted. NaN results are canonical. Determinism class:
// ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

struct ResponseNormShape {
  int64_t n = 1;
  int64_t c = 1;
  int64_t s = 1;
  int64_t size = 1;  // channels of a window, >= 1
};
template <class T>
struct ResponseNormFactors {
  T alpha, beta, bias;
};

// Of an element of channel c, over the channels c - (size - 1) / 2 to c + size / 2 that there are, in ascending order,
// at the same place: q = global_sum_of_squares (reduce/reduce.h) of them; a = alpha / T(size); p = a * q; d = bias + p;
// w = pow(d, beta) (float: cr_pow; double: f64_pow); dst = x / w. squares (q) is as large as dst and may be
// null. T: float, double.
template <class T>
void local_response_norm(const KernelContext&, ResponseNormShape, const ResponseNormFactors<T>&, const T* src, T* dst,
                         T* squares);

}  // namespace isobit::kernels
