// Kernels that put values among zeros.
#pragma once

#include "isobit/kernels/movement/movement.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// Output 0 all zeros, on all threads.
inline void fill_zeros(KernelCall& c) {
  const uint64_t zero = 0;
  kernels::fill(c.ctx, size_of(c.out().dtype()), c.out().elements(), &zero, c.out().raw());
}

}  // namespace isobit::runtime
