// Numbers in another floating-point type.
#pragma once

#include "isobit/tensor/tensor.h"

namespace isobit {

// The same numbers in float32 or float64, each rounded to nearest even where float32 does not have it; a tensor of its
// own. REQUIRES a tensor of the other one of the two types, on the host.
Tensor converted(const Tensor& tensor, DType to);

}  // namespace isobit
