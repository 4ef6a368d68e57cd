// The matrices of one inner-product operator in float64, as the search for near-ties sees them.
#pragma once

#include <span>
#include <vector>

#include "isobit/kernels/context.h"
#include "isobit/kernels/product/lines.h"

namespace isobit::kernels::rounding {

// One of the equal matrices of a call. Together they fill its output: those of a batch one after the other, those of
// the groups of a convolution image by image.
struct ProductBlock : product::Matrices<double> {
  // The whole operands that the lines are taken from, other blocks' lines included; in the order of the call.
  std::span<const double> first_operand, second_operand;
};

// For each line a number that is at least its 2-norm, but for 2^-20 of it, and zero if all its elements are.
std::vector<double> norm_bounds(const KernelContext& ctx, const product::Lines<double>& lines);

}  // namespace isobit::kernels::rounding
