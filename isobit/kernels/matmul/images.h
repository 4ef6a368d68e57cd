// Windows with an image in each lane of a vector.
//
// All lanes then are the same position, so that a tap which meets no place of the plane there is left out of the sum,
// where the other ways multiply by +0: 0.31 of the products of 3 x 3 taps on images of 4 x 4, 0.16 on 8 x 8. No lane
// is wasted, whatever the size of an image and the step. What an image gives to a chunk is transposed once, to
// (position, channel, image); the outputs are transposed back at the end. Weights are laid out as panels once for all.
// Internal to the driver.
#pragma once

#include "isobit/kernels/matmul/problem.h"

namespace isobit::kernels::gemm {

// Half cycles for one element of the window matrix: what this way is expected to take. Infinite where it does not go.
template <class T>
double cost_by_images(const Table<T>& kernels, const Problem<T>& p);

// REQUIRES that cost_by_images is finite, and that no weight is Inf or NaN: left-out products are taken for zeros.
template <class T>
void compute_by_images(const KernelContext& ctx, const Problem<T>& p);

}  // namespace isobit::kernels::gemm
