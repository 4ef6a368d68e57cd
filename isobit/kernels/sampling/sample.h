// An array of any rank sampled along each of its axes (taps.h): what resizing and its gradient compute.
//
// src is dense and row-major over the axes' in(), dst over their out(). Plain loops, compiled once for the baseline
// machine. No output overlaps an operand. REQUIRES one axis at least.
#pragma once

#include <cstddef>
#include <span>

#include "isobit/kernels/context.h"
#include "isobit/kernels/sampling/taps.h"

namespace isobit::kernels {

// dst = T(v), where in float64, for one place of the result:
//   a line is a combination of one tap each of all axes but the last, in row-major order of the axes; W(line) is the
//     product of their weights, multiplied from the first axis to the last;
//   r(x) = +0, plus W(line) * src(line, x) of all lines, each product and each sum rounded;
//   v = +0, plus weight * r(place) of the taps of the last axis, each product and each sum rounded.
// (A tap of weight 1 changes no bit: an axis that is the identity is left out.) Where some axis has no taps, v is
// `outside`. NaN results are canonical. Determinism class: ordered-1.
void sample(const KernelContext&, std::span<const AxisTaps> axes, double outside, const float* src, float* dst);
void sample(const KernelContext&, std::span<const AxisTaps> axes, double outside, const double* src, double* dst);

// dst = the element at the taps' places, or *outside where an axis has no tap; bits are preserved. element_size is 1,
// 2, 4 or 8 bytes. Determinism class: exact. REQUIRES at most one tap for each place.
void take_places(const KernelContext&, size_t element_size, std::span<const AxisTaps> axes, const void* outside,
                 const void* src, void* dst);

}  // namespace isobit::kernels
