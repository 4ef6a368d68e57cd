// Rows taken from where integers say (places.h), put there, and combined with what is there.
//
// Where rows are put they are put in ascending order: of several for one place the last one stays, and the first one is
// combined first. Arrays are dense, row-major, aligned to their element; src and dst never overlap. Determinism class:
// exact where elements are moved; combine_rows: ordered-1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isobit/kernels/context.h"
#include "isobit/kernels/indexed/places.h"

namespace isobit::kernels {

// dst [rows, inner]: row r of it is the row of src at its place. Elements of 1, 2, 4 or 8 bytes, bits preserved.
void gather_rows(const KernelContext& ctx, size_t element_size, const RowPlaces& places, const void* src, void* dst);

// The other way: row r of src [rows, inner] is put at its place in dst; the rest of dst stays.
void scatter_rows(const KernelContext& ctx, size_t element_size, const RowPlaces& places, const void* src, void* dst);

// Each element of dst for which src [rows, inner] has some, u1, u2, ... by ascending row, becomes, x being what it was:
//   kAdd  Sum (reduce/reduce.h) of x, u1, u2, ...: of floats correctly rounded, of doubles in this order; of integers
//         modulo 2^bits
//   kMul  x * u1, times u2, ...: each product rounded, or modulo 2^bits
//   kMax  the greatest of all in the order -inf < ... < -0 < +0 < ... < inf < NaN
//   kMin  the least in the order NaN < -inf < ... < -0 < +0 < ... < inf
// A NaN is the canonical one. The other elements of dst stay, bits preserved. T: float, double, and every integer.
enum class Combine { kAdd, kMul, kMax, kMin };
template <class T>
void combine_rows(const KernelContext& ctx, Combine how, const RowPlaces& places, const T* src, T* dst);

// ONNX OneHot: dst [outer, depth, inner] is off_on[1] at (o, d, i) where indices[o, i] is d or d - depth, off_on[0]
// elsewhere. Any index is allowed. Index: every integer. Elements as above, off_on two of them.
struct OneHotShape {
  int64_t outer = 1;
  int64_t depth = 0;
  int64_t inner = 1;
};
template <class Index>
void one_hot(const KernelContext& ctx, size_t element_size, const OneHotShape& shape, const Index* indices,
             const void* off_on, void* dst);

}  // namespace isobit::kernels
