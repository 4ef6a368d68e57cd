// For the loops of per-ISA files in the element-wise families. Nothing here has linkage.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::elementwise {

// x, but the one NaN for any NaN.
ISOBIT_INLINE float tidy(float x) { return x == x ? x : numerics::impl::nan32(); }
ISOBIT_INLINE double tidy(double x) { return x == x ? x : numerics::impl::nan64(); }

// dst[i] = f(src[i]), or f(a[i], b[i]), for i < n. dst may be what is read.
template <class T, class F>
ISOBIT_INLINE void each(int64_t n, const T* src, T* dst, F f) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) dst[i] = f(src[i]);
}

template <class T, class F>
ISOBIT_INLINE void each(int64_t n, const T* a, const T* b, T* dst, F f) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) dst[i] = f(a[i], b[i]);
}

}  // namespace isobit::kernels::elementwise
