// Running sums along an axis (ONNX CumSum-14).
#pragma once

#include "isobit/kernels/context.h"
#include "isobit/kernels/reduce/reduce.h"

namespace isobit::kernels {

struct CumulativeSumForm {
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the last element to the first
};

// dst[o, a, i] = the sum of the elements of line (o, i) of src up to and with place a, in the direction of the form;
// T(0) of none. float and double: Sum of reduce.h, the terms of double in the direction of the form; other T: the sum
// of integers modulo 2 to the number of the type's bits. dst may be src. T: float, double, int32, int64, uint32,
// uint64. Determinism class: ordered-1.
template <class T>
void cumulative_sum(const KernelContext&, AxisView view, CumulativeSumForm form, const T* src, T* dst);

}  // namespace isobit::kernels
