// For the loops of per-ISA files in the element-wise families. Nothing here has linkage.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::elementwise {

// x, but the one NaN for any NaN.
ISOBIT_INLINE float tidy(float x) { return x == x ? x : numerics::impl::nan32(); }
ISOBIT_INLINE double tidy(double x) { return x == x ? x : numerics::impl::nan64(); }

}  // namespace isobit::kernels::elementwise
