// The logarithm of sums of exponentials over any axes (ONNX ReduceLogSumExp-18).
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// Of each result of the reduction over `axes` (reduce/reduce.h), with Sum, Max, exp and log as in softmax.h:
// m = Max; a = m if that is finite, else +0; t = x - a; e = exp(t); s = Sum(e); l = log(s); dst = l + a. So -inf is the
// result of no elements and of nothing but -inf, +inf where there is a +inf, and the canonical NaN where there is a
// NaN. max (m) and sum (s) are as large as dst and may be null. REQUIRES dims.size() <= 64. Determinism class:
// ordered-1.
void log_sum_exp(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst,
                 float* max = nullptr, float* sum = nullptr);
void log_sum_exp(const KernelContext&, std::span<const int64_t> dims, uint64_t axes, const double* src, double* dst,
                 double* max = nullptr, double* sum = nullptr);

}  // namespace isobit::kernels
