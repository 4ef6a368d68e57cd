// The engine behind matmul and convolution; internal to the kernels room.
//
// A problem is a grid of m x n inner products of rows of a left operand L(i, k) with rows of a right operand R(j, k), a
// plan of chunks along k and a place for the results. Operands are read only through pack(), so a convolution is a
// product whose right operand computes its elements from the image: no im2col matrix exists in memory.
//
// The driver (gemm.cpp, baseline machine) splits the grid over threads, cuts each part into tiles of `rows` x
// `vectors`, and walks the chunks; one call of a tile kernel does one chunk of one tile. The kernels come in a table
// per ISA (tile_kernels.inc). A tile vectorises over j and broadcasts over i, so every output keeps its own chain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels::gemm {

enum class OperandKind {
  kStrided,     // data[i * i_stride + (k / k_period) * k_period_stride + (k % k_period) * k_stride]
  kWindows,     // i a position of the output grid, k in channel order (conv.h): the element under tap k
  kWindowRows,  // the same elements with the roles exchanged: i = channel * taps + tap, k = (image, row, column)
};

struct Tap {
  int64_t y, x;   // added to the position's own coordinates in the plane
  int64_t index;  // which weight
};

// i_stride etc. belong to kStrided, the rest to the other kinds. See conv.cpp for how they are set.
template <class T>
struct Operand {
  OperandKind kind = OperandKind::kStrided;
  const T* data = nullptr;
  int64_t batch_stride = 0;
  int64_t i_stride = 0, k_stride = 0, k_period = 1, k_period_stride = 0;
  int64_t channels = 0, channel_stride = 0;
  const Tap* taps = nullptr;
  int64_t tap_count = 0;
  int64_t image_stride = 0;
  int64_t plane_h = 0, plane_w = 0;  // of one channel of one image
  int64_t grid_h = 0, grid_w = 0;    // positions of one image
  int64_t step_h = 1, step_w = 1;    // plane coordinates of position (y, x): (y * step_h, x * step_w) plus the tap
};

// k = (period, rest): chunks never cross a period and the last of a period may be short.
struct ChunkPlan {
  int64_t periods = 1, period = 0, chunk = 1;
};

// Where output (i, j) goes: data[i * row_stride + (j / (lines * columns)) * image_stride
//                               + (j / columns % lines) * line_stride + (j % columns) * column_stride].
template <class T>
struct Output {
  T* data = nullptr;
  int64_t batch_stride = 0;
  int64_t row_stride = 0;
  int64_t image_stride = 0, lines = 1, line_stride = 0, columns = 1, column_stride = 1;
};

template <class T>
struct Problem {
  int64_t m = 0, n = 0;
  ChunkPlan plan;
  Operand<T> left, right;
  Output<T> out;
  const T* bias = nullptr;
  bool bias_per_row = false;  // else one per column
  int64_t bias_batch_stride = 0;
  int64_t batch = 1;
};

// REQUIRES ctx.isa != kReference.
void run(const KernelContext& ctx, const Problem<float>& problem);
void run(const KernelContext& ctx, const Problem<double>& problem);

// An aligned, growing block of memory of the calling thread, for what is packed anew in every call: fresh pages would
// cost more than the packing. Valid until the thread's next call with the same slot.
enum class Slot { kEngine, kWeights };
void* scratch(Slot slot, size_t bytes);

// ---- what an ISA provides

inline constexpr int kMaxVectors = 3;
inline constexpr int kMaxRows = 24;
inline constexpr int kMaxWidth = 64;  // of a packed panel, in elements

// One chunk of one tile. Element (r, k) of the left panel is left[k * rows + r] (`tile`) or left[r * left_row_stride +
// k]
// (`rows`); row k of
// the right panel has vectors * lanes elements. block and result are the tile's running totals, row after row.
template <class T>
struct TileStep {
  int64_t terms;
  const T* left;
  int64_t left_row_stride;
  const T* right;
  int64_t right_k_stride;
  T *block, *result;
  bool load_block;   // not the first chunk of its block
  bool end_block;    // the last chunk of its block, or of all
  bool load_result;  // not in the first block
  bool last;         // the last chunk of all: add the bias, canonicalise and store to c
  T* c;
  int64_t c_row_stride, columns;
  const T *row_bias, *column_bias;  // either may be null
};

template <class T>
using TileKernel = void (*)(const TileStep<T>&);
// Writes L(i0 + r, k0 + k) for r < count to dst[k * width + r], and +0 for count <= r < width. k0 begins a chunk and
// the range is a whole chunk. REQUIRES width <= kMaxWidth; scratch: width * (terms + kMaxWidth) elements.
template <class T>
using PackPanel = void (*)(const Operand<T>&, T* dst, T* scratch, int64_t width, int64_t i0, int64_t count, int64_t k0,
                           int64_t terms);

// The same elements as rows: L(i0 + r, k0 + k) to dst[r * row_stride + k]. Only for kWindowRows, whose elements come
// that way round. REQUIRES row_stride >= terms.
template <class T>
using PackRows = void (*)(const Operand<T>&, T* dst, int64_t row_stride, int64_t i0, int64_t count, int64_t k0,
                          int64_t terms);

template <class T>
struct Kernels {
  int lanes;
  int max_rows[kMaxVectors];                  // for 1, 2, 3 vectors; 0: not provided
  TileKernel<T> tile[kMaxVectors][kMaxRows];  // [vectors - 1][rows - 1]: left panel packed
  TileKernel<T> rows[kMaxVectors][kMaxRows];  // the same, left panel row by row
  PackPanel<T> pack;
  PackRows<T> pack_rows;
};

}  // namespace isobit::kernels::gemm

namespace isobit::kernels::portable {
const gemm::Kernels<float>& gemm_kernels_f32();
const gemm::Kernels<double>& gemm_kernels_f64();
}  // namespace isobit::kernels::portable
namespace isobit::kernels::avx2 {
const gemm::Kernels<float>& gemm_kernels_f32();
const gemm::Kernels<double>& gemm_kernels_f64();
}  // namespace isobit::kernels::avx2
namespace isobit::kernels::avx512 {
const gemm::Kernels<float>& gemm_kernels_f32();
const gemm::Kernels<double>& gemm_kernels_f64();
}  // namespace isobit::kernels::avx512
namespace isobit::kernels::neon {
const gemm::Kernels<float>& gemm_kernels_f32();
const gemm::Kernels<double>& gemm_kernels_f64();
}  // namespace isobit::kernels::neon
