// One-operand arithmetic, scaling and conversion.
//
// Determinism class `ordered-1`; NaN results are canonical (0x7fc00000, 0x7ff8000000000000). dst may be src.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"
#include "isobit/tensor/tensor.h"

namespace isobit::kernels {

// float: correctly rounded, each of them (numerics/functions.h).
// double: kNeg, kAbs, kSqrt and kReciprocal are correctly rounded; the others are the written sequences f64_* of
// numerics/functions.h.
//   kNeg         the sign bit flipped
//   kAbs         the sign bit cleared
//   kSqrt        sqrt(-0) = -0, sqrt(x < 0) = NaN
//   kReciprocal  1 / x
//   kRsqrt       1 / sqrt(x) as one function
enum class UnaryOp { kNeg, kAbs, kSqrt, kExp, kLog, kErf, kSin, kCos, kReciprocal, kRsqrt };

// T: float, double.
template <class T>
void unary(const KernelContext& ctx, UnaryOp op, int64_t n, const T* src, T* dst);

// dst[i] = factor * src[i], one multiplication. T: float, double.
template <class T>
void scale(const KernelContext& ctx, int64_t n, T factor, const T* src, T* dst);

// dst[i] = the float nearest to src[i]^3, as Power (power.h) has it.
void cube(const KernelContext& ctx, int64_t n, const float* src, float* dst);

// dst[i] = src[i] as a `to`. Every pair of dtypes and every value is defined, the same on every machine:
//   same dtype         bits copied
//   float -> float     (float16, bfloat16, float32, float64) exact, or to nearest even in one rounding; beyond the
//                      largest of `to`, its infinity;  a NaN becomes the canonical NaN of `to`
//   integer -> float   to nearest even in one rounding
//   float -> integer   truncated toward zero, then clamped to the range of `to`; NaN -> 0
//   integer -> integer the low bits (two's complement)
//   number -> bool     0 for 0, +0 and -0; else 1 (NaN included)
//   bool -> number     a byte 0 is 0, any other byte 1
// src and dst do not overlap, unless the dtypes have one size and dst is src.
void cast(const KernelContext& ctx, DType from, DType to, int64_t n, const void* src, void* dst);

}  // namespace isobit::kernels
