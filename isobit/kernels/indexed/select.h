// Places that data decide: of what is not zero, of what is true, of what is distinct. How many there are is known only
// then, so that a caller counts first.
//
// On one thread. Determinism class: exact.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/base/scratch.h"
#include "isobit/tensor/tensor.h"

namespace isobit::kernels {

// How many of n elements are not zero. +0 and -0 are zero, a NaN is not; of bool, any byte but 0 is true.
int64_t count_non_zero(DType dtype, int64_t n, const void* src);
// dst [rank, count]: column j is where the element number j of them is, in ascending row-major order (ONNX NonZero).
// REQUIRES count as count_non_zero says.
void non_zero(DType dtype, const Shape& shape, int64_t count, const void* src, int64_t* dst);

// The places of bytes that are not 0, ascending.
ScratchVector<int64_t> places_of_true(std::span<const uint8_t> condition);

// The distinct items of src [outer, items, inner], item j being all (o, j, i). Items are equal when all their elements
// are: +0 and -0 are, and so are all NaNs. They are in the order of their first occurrences, or, sorted, by their
// elements, the first that differs deciding: ascending, NaN last.
struct DistinctItems {
  ScratchVector<int64_t> first;   // by distinct item: the lowest j that is it
  ScratchVector<int64_t> number;  // by j: which one it is
  ScratchVector<int64_t> counts;  // by distinct item: how many j are it
};
// REQUIRES a type of NumberTypes, or bool (of which any byte but 0 is true).
DistinctItems distinct_items(DType dtype, int64_t outer, int64_t items, int64_t inner, bool sorted, const void* src);

}  // namespace isobit::kernels
