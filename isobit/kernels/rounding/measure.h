// How large the values of an array are, in one pass over it.
#pragma once

#include <span>

#include "isobit/kernels/context.h"
#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {

// The sum of squares is for bounds: it is added in unspecified order.
Extent measure(const KernelContext& ctx, std::span<const double> values);

}  // namespace isobit::kernels::rounding
