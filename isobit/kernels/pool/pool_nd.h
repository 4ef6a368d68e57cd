// Pooling over images of any rank: what pool.h does not cover with its fast loops for planes of floating-point numbers,
// by the same rules, and Lp norms (ONNX MaxPool-22, AveragePool-22, LpPool-22, GlobalLpPool-22, MaxUnpool-22).
//
// Images are `planes` x the axes, results `planes` x the windows of each axis, all row-major. Sum, Max and T(k) are
// those of pool.h and reduce/reduce.h. Every result is a plain loop over its taps, compiled once for the baseline
// machine. NaN results are canonical. Determinism class: ordered-1; of max pooling and unpooling exact. REQUIRES one
// axis at least.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels {

// In which order the places of a plane are numbered: the last axis first (ONNX's storage_order 0), or the first one.
enum class PlaceOrder { kRowMajor, kColumnMajor };

// dst = Max of the taps inside the image, in T's order; indices = its place in all of src, plane * (places of a plane)
// + place; among equals the first in row-major order. A window of padding alone: dst is the lowest of T (-inf), the
// index -1. indices may be null. T: float, double, int8_t, uint8_t.
template <class T>
void max_pool_nd(const KernelContext&, int64_t planes, std::span<const SlidingAxis> axes, PlaceOrder order,
                 const T* src, T* dst, int64_t* indices);

// diff_src = +0, plus diff_dst of every window whose index is this place, one add each in ascending order of the
// windows of all planes. REQUIRES indices of -1 or of places in diff_src.
template <class T>
void max_pool_nd_grad(const KernelContext&, int64_t planes, std::span<const SlidingAxis> axes, PlaceOrder order,
                      const T* diff_dst, const int64_t* indices, T* diff_src);

// As average_pool and average_pool_grad of pool.h.
template <class T>
void average_pool_nd(const KernelContext&, int64_t planes, std::span<const SlidingAxis> axes, bool count_include_pad,
                     const T* src, T* dst);
template <class T>
void average_pool_nd_grad(const KernelContext&, int64_t planes, std::span<const SlidingAxis> axes,
                          bool count_include_pad, const T* diff_dst, T* diff_src);

// dst = T(r), where in float64: q = |x| multiplied p - 1 times by |x|, each product rounded, for the taps inside the
// image; s = numerics::sum_ordered_f64 of them in row-major order; r = s for p = 1, sqrt(s) for p = 2, else
// numerics::f64_pow(s, 1 / p) with the quotient rounded. Padding adds nothing. REQUIRES p >= 1.
template <class T>
void lp_pool_nd(const KernelContext&, int64_t planes, std::span<const SlidingAxis> axes, int64_t p, const T* src,
                T* dst);

// The two parts of it: q of x, and r of s.
double lp_power(double x, int64_t p);
double lp_root(double s, int64_t p);

// dst [n] of elements of element_size 1, 2, 4 or 8 bytes: all bits 0, but dst[indices[i]] = src[i]; where several i
// have one index, the last of them. REQUIRES 0 <= indices[i] < n.
void unpool(const KernelContext&, size_t element_size, int64_t count, const void* src, const int64_t* indices,
            int64_t n, void* dst);

}  // namespace isobit::kernels
