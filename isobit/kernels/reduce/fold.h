// Reductions over any axes that are one plain loop over the elements of each result, and their gradients.
//
// As in reduce.h: bit a of `axes` is set when axis a is reduced, results are row-major over the axes that are kept, and
// `Sum` and `Max` mean the same. An array is visited in ascending row-major order. Every operation of float and double
// is rounded once; NaN results are canonical. Integers are those of the type, modulo 2 to the number of its bits.
//
// Determinism class: ordered-1. Operands and results do not overlap. REQUIRES dims.size() <= 64.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

enum class Extreme : uint8_t { kLargest, kLeast };

// T: any integer. The sum; 0 of no elements.
template <class T>
void reduce_sum(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);
// T: any integer. That sum divided by the number of elements, rounded towards zero. REQUIRES a reduced count >= 1.
template <class T>
void reduce_mean(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);
// T: any integer. The largest; of no elements the least that there is.
template <class T>
void reduce_max(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);

// T: float, double, any integer. The least in the order NaN < -inf < ... < -0 < +0 < ... < +inf, so one NaN makes the
// result the canonical NaN and -0 wins over +0; of no elements +inf, or the largest integer.
template <class T>
void reduce_min(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);

// T: float, double, any integer. p = 1; p = p * x for each element; dst = p.
template <class T>
void reduce_prod(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);

// Bytes, of which any but 0 is true: whether one is, whether all are. 1 or 0; of no elements 0 and 1.
void reduce_any(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const uint8_t* src, uint8_t* dst);
void reduce_all(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const uint8_t* src, uint8_t* dst);

// T: float, double: global_sum_of_squares (reduce.h) of the elements of each result. Any integer: the sum of x * x.
template <class T>
void reduce_sum_of_squares(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);

// T: float, double. dst = the root (correctly rounded) of reduce_sum_of_squares, which goes to squares unless that is
// null.
template <class T>
void reduce_l2(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst, T* squares);

// The gradient of reduce_max, or of reduce_min; T: float, double. m = what that gives; k = how many elements of the
// result are equal to m (both zeros are one number, a NaN equals none); g = diff_dst / T(k); diff_src = g where an
// element is equal to m, +0 elsewhere. extremes (m) and counts (T(k)) are as large as diff_dst and may be null.
template <class T>
void reduce_extreme_grad(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, Extreme extreme,
                         const T* src, const T* diff_dst, T* diff_src, T* extremes, T* counts);

// The gradient of reduce_prod; T: float, double. For each element, with b the product of those before it (1 times the
// first, and so on) and a that of those behind it (1 times the last, and so on): o = b * a; diff_src = diff_dst * o.
template <class T>
void reduce_prod_grad(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const T* src,
                      const T* diff_dst, T* diff_src);

}  // namespace isobit::kernels
