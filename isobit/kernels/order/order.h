// Places of extremes along an axis, and the k largest or least elements of it (ONNX ArgMax-13, ArgMin-13, TopK-24).
//
// Elements are compared as numbers, -inf < ... < -0 = +0 < ... < +inf < NaN, and all NaNs are equal: which of two zeros
// stands first is decided by their places, not by their signs (unlike in reduce/reduce.h, where one of two values has
// to be given out). T: float, double and every integer of 8 to 64 bits. Determinism class: exact.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"
#include "isobit/kernels/reduce/fold.h"
#include "isobit/kernels/reduce/reduce.h"

namespace isobit::kernels {

enum class Among : uint8_t { kFirst, kLast };  // of equal elements

// dst [outer, inner]: the place, 0 to axis - 1, of the largest or least element of each line. kLeast: here a NaN is
// less than -inf, so that it is found, as reduce_min gives it. REQUIRES axis >= 1.
template <class T>
void place_of_extreme(const KernelContext&, AxisView view, Extreme extreme, Among among, const T* src, int64_t* dst);

// values and places [outer, k, inner]: the k largest elements of each line, the largest first, or the k least, the
// least first, and where they were. Of equal elements the one with the lower place comes first. Bits are preserved.
// kLeast: here a NaN is greater than +inf, so it comes last. REQUIRES 0 <= k <= axis.
template <class T>
void top_k(const KernelContext&, AxisView view, int64_t k, Extreme extreme, const T* src, T* values, int64_t* places);

// The gradient of top_k's values; T: float, double. diff_src (the view's shape) = diff_values [outer, k, inner] at
// their places, +0 elsewhere. Of several values with one place of a line the last is kept. REQUIRES 0 <= places < axis.
template <class T>
void top_k_grad(const KernelContext&, AxisView view, int64_t k, const int64_t* places, const T* diff_values,
                T* diff_src);

}  // namespace isobit::kernels
