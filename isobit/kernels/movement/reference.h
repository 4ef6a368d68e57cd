// The executable specification of strided_copy: one index at a time.
#pragma once

#include "isobit/kernels/movement/strided_copy.h"

namespace isobit::kernels::reference {

void strided_copy(size_t element_size, const movement::StridedCopy& c, const void* src, void* dst);

}  // namespace isobit::kernels::reference
