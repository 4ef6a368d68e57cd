// Moving elements without computing: bits are preserved, NaN payloads included. Determinism class: exact.
//
// Elements are untyped, of element_size 1, 2, 4 or 8 bytes; all arrays are dense and row-major and aligned to their
// element. src and dst never overlap. Shapes are validated by the caller (REQUIRES lines); a zero dimension is fine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isobit/kernels/context.h"
#include "isobit/tensor/slice_range.h"
#include "isobit/tensor/tensor.h"

namespace isobit::kernels {

// dst has the shape whose axis i is src's axis permutation[i].
// REQUIRES permutation is a permutation of 0 .. rank - 1.
void transpose(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const int> permutation,
               const void* src, void* dst);

struct ConcatInput {
  std::span<const int64_t> dims;
  const void* data;
};
// The inputs one after another along `axis`. REQUIRES at least one input, equal ranks, 0 <= axis < rank, and equal
// dimensions but for `axis`.
void concat(const KernelContext& ctx, size_t element_size, int axis, std::span<const ConcatInput> inputs, void* dst);

using isobit::resolve_slice;
using isobit::SliceRange;

// dst has the shape of the counts; ranges holds one range an axis, every position inside src. Split is slices.
void slice(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const SliceRange> ranges,
           const void* src, void* dst);

// The other way: writes src (the shape of the counts) to those positions of dst and leaves the rest. The gradient of
// slice is fill with 0, then this.
void assign_slice(const KernelContext& ctx, size_t element_size, const Shape& dst_shape,
                  std::span<const SliceRange> ranges, const void* src, void* dst);

// before[i] elements equal to *value before axis i, after[i] behind it. Negative numbers crop (ONNX Pad).
// REQUIRES one number an axis, of 2^60 or less, and no resulting dimension below 0. The gradient is pad with the signs
// turned. What is taken from the source instead of a value: indexed/indexed.h.
void pad(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const int64_t> before,
         std::span<const int64_t> after, const void* value, const void* src, void* dst);

// Gather along an axis: src is [outer, axis, inner], indices has `count` elements, dst is [outer, count, inner]:
//   dst[o, j, i] = src[o, indices[j] < 0 ? indices[j] + axis : indices[j], i].
// REQUIRES -axis <= indices[j] < axis (the caller checks: indices are data; first_bad_index helps).
struct GatherShape {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t count = 0;
  int64_t inner = 1;
};
void gather(const KernelContext& ctx, size_t element_size, const GatherShape& shape, const int64_t* indices,
            const void* src, void* dst);
void gather(const KernelContext& ctx, size_t element_size, const GatherShape& shape, const int32_t* indices,
            const void* src, void* dst);
// The first j whose index is outside [-axis, axis), or -1.
int64_t first_bad_index(std::span<const int64_t> indices, int64_t axis);
int64_t first_bad_index(std::span<const int32_t> indices, int64_t axis);

// Repeats src over dst_shape as broadcasting does. REQUIRES that src_shape broadcasts to dst_shape itself.
void expand(const KernelContext& ctx, size_t element_size, const Shape& src_shape, const Shape& dst_shape,
            const void* src, void* dst);

// Every axis of src repeats[i] times (ONNX Tile). REQUIRES one number an axis, 0 or more.
void tile(const KernelContext& ctx, size_t element_size, const Shape& src_shape, std::span<const int64_t> repeats,
          const void* src, void* dst);

// Matrices [rows, cols], `batch` of them: the elements (r, c) with c - r >= k (upper) or <= k (not upper) as they are,
// all bits 0 in the place of the others (ONNX Trilu).
struct Triangle {
  int64_t batch = 1;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t k = 0;
  bool upper = true;
};
void trilu(const KernelContext& ctx, size_t element_size, const Triangle& shape, const void* src, void* dst);

// n elements equal to *value.
void fill(const KernelContext& ctx, size_t element_size, int64_t n, const void* value, void* dst);

// n elements.
void copy(const KernelContext& ctx, size_t element_size, int64_t n, const void* src, void* dst);

}  // namespace isobit::kernels
