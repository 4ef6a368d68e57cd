// The gradient of weights with taps read in place.
//
// A tile has some channels under one tap as its rows and outputs' gradients in its vectors. Under one tap the elements
// of a line of the plane lie evenly, so nothing of a window is ever copied; and where a tap meets no place of the plane
// the term is left out of the sum, where the other way multiplies by +0. Of what it is multiplied with, a chunk at a
// time is laid out, and looked through for Inf and NaN: a chunk that has one is computed with the zeros in their place.
// Internal to the driver.
#pragma once

#include "isobit/kernels/matmul/problem.h"

namespace isobit::kernels::gemm {

// Cycles for one term of all sums: what this way is expected to take. Infinite where it does not go.
template <class T>
double cost_by_taps(const Table<T>& kernels, const Problem<T>& p);

// REQUIRES that cost_by_taps is finite.
template <class T>
void compute_by_taps(const KernelContext& ctx, const Problem<T>& p);

}  // namespace isobit::kernels::gemm
