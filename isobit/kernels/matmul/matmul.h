// Matrix product. Determinism class: `ordered-1`.
//
// Every output is one chain of its own. For output (i, j):
//   a chunk sum starts at +0 and takes fma(a[i, l], b[l, j], sum) in ascending l over 256 consecutive l;
//   chunk sums are added left to right to a block total that starts at +0;
//   after 16 chunks (4,096 terms) the block total is added to the result, which starts at +0;
//   then the bias, if there is one, is added to the result.
// The last chunk and the last block may be short. k = 0 gives +0 (plus the bias). A NaN result is the canonical NaN.
// Nothing else is promised or needed: tile shape, packing, vector width and threads cannot reach the bits.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

inline constexpr int64_t kMatmulChunk = 256;    // terms in a chunk
inline constexpr int64_t kChunksPerBlock = 16;  // chunks in a block

class KeptPanels;

// c[i, j] = sum over l of a[i, l] * b[l, j] + bias[j], for each of `batch` independent triples.
// Strides are in elements and may be any value, 0 and negative included; a transposed operand is one with its strides
// swapped. c has column stride 1.
// REQUIRES m, n, k, batch >= 0; c_row_stride >= n and c_batch_stride such that no two outputs share an element; c
// overlaps no operand.
template <class T>
struct MatmulArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t a_row_stride = 0, a_col_stride = 1;
  const T* b = nullptr;
  int64_t b_row_stride = 0, b_col_stride = 1;
  T* c = nullptr;
  int64_t c_row_stride = 0;
  const T* bias = nullptr;  // length n, shared by the whole batch; nullptr for none
  int64_t batch = 1;
  int64_t a_batch_stride = 0, b_batch_stride = 0, c_batch_stride = 0;
  // kept_panels.h: b is the same in every call with it. It outlives the call and serves one at a time; the reference
  // does not use it. Null: nothing is kept.
  KeptPanels* kept_b = nullptr;
};

void matmul(const KernelContext& ctx, const MatmulArgs<float>& args);
void matmul(const KernelContext& ctx, const MatmulArgs<double>& args);

}  // namespace isobit::kernels
