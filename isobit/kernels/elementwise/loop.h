// For the loops of per-ISA files in the element-wise families. Nothing here has linkage.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl.h"

#define ISOBIT_ALWAYS_INLINE [[gnu::always_inline]] static inline

// Before a loop no iteration of which reads what another writes. dst may be src, element for element; that, too, is
// no dependence between iterations, but the compiler cannot know.
#if defined(__clang__)
#define ISOBIT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ISOBIT_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace isobit::kernels::elementwise {

// x, but the one NaN for any NaN.
ISOBIT_ALWAYS_INLINE float tidy(float x) { return x == x ? x : numerics::impl::nan32(); }
ISOBIT_ALWAYS_INLINE double tidy(double x) { return x == x ? x : numerics::impl::nan64(); }

}  // namespace isobit::kernels::elementwise
