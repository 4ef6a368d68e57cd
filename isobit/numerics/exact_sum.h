// Sums of ordered-1 and correct-1: the float32 nearest to the exact sum, however it is computed.
//
// Determinism: the result is a mathematical fact, independent of order, lanes, threads and ISA. Computed in float64
// with a rigorous error bound; where the bound cannot decide the rounding, exactly with integers.
//
// Common rules: ties to even; an exact zero (and the sum of nothing) is +0; any NaN or inf - inf gives 0x7fc00000;
// overflow gives an infinity. REQUIRES: fewer than 2^40 elements in all.
//
// These are the baseline builds. Kernels that want them with wide vectors include exact_sum_impl.h in their own per-ISA
// translation units; the results are the same.
#pragma once

#include <cstdint>
#include <span>

namespace isobit::numerics {

class ExactAccumulator;  // exact_accumulator.h

// count elements, `stride` elements apart (stride may be negative or zero).
struct StridedSegment {
  const float* data = nullptr;
  int64_t count = 0;
  int64_t stride = 1;
};

float sum_rounded(const float* x, int64_t n);
float sum_rounded(std::span<const StridedSegment> segments);

// The float32 nearest to the exact sum of x[i]^2.
float sum_of_squares_rounded(const float* x, int64_t n);
float sum_of_squares_rounded(std::span<const StridedSegment> segments);

// dst[c] = sum over r of src[r * row_stride + c], 0 <= c < cols: bias gradients. dst must not overlap src.
void sum_columns_rounded(const float* src, int64_t rows, int64_t cols, int64_t row_stride, float* dst);

// The float32 nearest to the exact rational sum / n, n the number of elements. REQUIRES at least one element.
float mean_rounded(const float* x, int64_t n);
float mean_rounded(std::span<const StridedSegment> segments);

// mean: as mean_rounded. variance: the float32 nearest to the exact rational (n * sum x^2 - (sum x)^2) / n^2, which is
// the population variance around the true (not the rounded) mean; +0 when it is exactly zero; NaN when any x is not
// finite.
struct MeanVariance {
  float mean;
  float variance;
};
MeanVariance mean_variance_rounded(const float* x, int64_t n);
MeanVariance mean_variance_rounded(std::span<const StridedSegment> segments);

// The contract of float64 tensors: chunks of 256 elements, each added left to right starting at +0; chunk sums added
// left to right to a total that starts at +0. The chunks run across segments as if they were one array. NaN is
// canonical.
double sum_ordered_f64(const double* x, int64_t n);
struct StridedSegmentF64 {
  const double* data = nullptr;
  int64_t count = 0;
  int64_t stride = 1;
};
double sum_ordered_f64(std::span<const StridedSegmentF64> segments);
// The same over x[i] * x[i] (the product rounded, then added).
double sum_of_squares_ordered_f64(const double* x, int64_t n);
double sum_of_squares_ordered_f64(std::span<const StridedSegmentF64> segments);
// The undecided cases, in integers; also the oracle of the fast path. Slow (a few ns an element).
float sum_exactly(const StridedSegment* segments, int64_t count);
float sum_of_squares_exactly(const StridedSegment* segments, int64_t count);
float mean_exactly(const StridedSegment* segments, int64_t count);
float variance_exactly(const StridedSegment* segments, int64_t count);
// The same of n elements from the exact sum of them and the exact sum of their squares. REQUIRES n >= 1.
float variance_of(const ExactAccumulator& sum, const ExactAccumulator& squares, int64_t n);

}  // namespace isobit::numerics
