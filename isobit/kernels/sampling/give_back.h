// What images are given back by what was sampled from them: one half of the gradients of sampling at points. Plain
// loops, compiled once for the baseline machine. Determinism class: ordered-1.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// A place of a plane that number `from` of what flows back was made of, with this weight.
struct GivenBack {
  int64_t place = 0, from = 0;
  double weight = 1;
};

// diff_src [channels, area]: of channel k, Sum (reduce/reduce.h) of T(weight * diff_dst[from + k * step]), the product
// rounded in float64, over the parts that have this place, in their order. REQUIRES 0 <= place < area.
void give_back(const KernelContext&, std::span<const GivenBack> parts, int64_t channels, int64_t area, int64_t step,
               const float* diff_dst, float* diff_src);
void give_back(const KernelContext&, std::span<const GivenBack> parts, int64_t channels, int64_t area, int64_t step,
               const double* diff_dst, double* diff_src);

}  // namespace isobit::kernels
