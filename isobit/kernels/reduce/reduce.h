// Sums, means, maxima and norms over axes.
//
// `Sum` below, and in every header that refers to this one: for float, the float32 nearest (ties to even) to the exact
// sum of the float32 terms, whatever their order; an exact zero sum, an empty one included, is +0; a NaN term, or
// infinities of both signs, give the canonical NaN; a sum beyond the largest float gives the infinity of its sign.
// For double, numerics::sum_ordered_f64 of the terms in the order given (ascending row-major order of the reduced
// elements where nothing else is said), canonical NaN; an exact zero sum is +0.
//
// `Max` below: the greatest in the order -inf < ... < -0 < +0 < ... < +inf < NaN, so +0 wins over -0 and one NaN makes
// the result the canonical NaN. Among equals (all NaNs are equal) the lowest index is the place of the maximum.
//
// Determinism class: ordered-1. Operands and results may not overlap unless said. Empty kept axes (no results) are
// fine.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// A dense array [outer, axis, inner], reduced over `axis`: results are [outer, inner].
struct AxisView {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
};

// dst = Sum of the axis. axis = 0 gives +0.
void reduce_sum(const KernelContext&, AxisView view, const float* src, float* dst);
void reduce_sum(const KernelContext&, AxisView view, const double* src, double* dst);

// dst = Sum / T(axis): the count rounded to T, one division. REQUIRES axis >= 1.
void reduce_mean(const KernelContext&, AxisView view, const float* src, float* dst);
void reduce_mean(const KernelContext&, AxisView view, const double* src, double* dst);

// dst = Max of the axis; -inf when axis = 0.
void reduce_max(const KernelContext&, AxisView view, const float* src, float* dst);
void reduce_max(const KernelContext&, AxisView view, const double* src, double* dst);

// The same over any set of axes of a row-major array, each result one Sum (not a sum of sums). Bit a of `axes` is set
// when axis a is reduced; the results are row-major over the axes that are kept. No bit set: Sum (or Max) of one
// element each, so -0 becomes +0 under reduce_sum and NaNs become canonical. REQUIRES dims.size() <= 64. Other
// reductions, and those of integers: fold.h.
void reduce_sum(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst);
void reduce_sum(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const double* src, double* dst);
// REQUIRES a reduced count >= 1.
void reduce_mean(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst);
void reduce_mean(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const double* src, double* dst);
void reduce_max(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst);
void reduce_max(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const double* src, double* dst);

// src [n, c, s] -> dst [c]: dst[c] = Sum over (n, s). The bias gradient of a convolution or batch norm.
void sum_channels(const KernelContext&, int64_t n, int64_t c, int64_t s, const float* src, float* dst);
void sum_channels(const KernelContext&, int64_t n, int64_t c, int64_t s, const double* src, double* dst);

// One tensor of a list.
template <class T>
struct ConstPart {
  const T* data = nullptr;
  int64_t n = 0;
};

// float: the float32 nearest to the exact sum of the exact squares of all elements of all parts (+inf when it is beyond
// the largest float, canonical NaN when an element is NaN). double: q = x * x rounded, then Sum over the parts one
// after another. No elements: +0.
float global_sum_of_squares(const KernelContext&, std::span<const ConstPart<float>> parts);
double global_sum_of_squares(const KernelContext&, std::span<const ConstPart<double>> parts);

// sqrt (correctly rounded) of global_sum_of_squares.
float global_norm(const KernelContext&, std::span<const ConstPart<float>> parts);
double global_norm(const KernelContext&, std::span<const ConstPart<double>> parts);

}  // namespace isobit::kernels
