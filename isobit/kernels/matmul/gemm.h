// The ordered products behind matmul and convolution; internal to the kernels room.
//
// It computes a product (product/geometry.h): a grid of m x n inner products of lines of the left side with lines of
// the right one, in chunks along k. Operands are read in place, through pack(), which knows each kind of side, or as
// windows of planes with a border (padded.h), with an image in each lane (images.h) or tap by tap (taps.h), so that no
// window matrix exists in memory.
//
// The driver (gemm.cpp, baseline machine) splits the grid over threads, cuts each part into tiles of `rows` x
// `vectors`, and walks the chunks; one call of a tile kernel does one chunk of one tile. The kernels come in a table
// per ISA (tile_kernels.inc). A tile vectorises over j and broadcasts over i, so every output keeps its own chain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/product/layout.h"

namespace isobit::kernels::product {
template <class T>
struct Product;
}  // namespace isobit::kernels::product

namespace isobit::kernels::gemm {

// Computes the product in its written order. REQUIRES ctx.isa != kReference.
void run(const KernelContext& ctx, const product::Product<float>& product);
void run(const KernelContext& ctx, const product::Product<double>& product);

// An aligned, growing block of memory of the calling thread, for what is packed anew in every call: fresh pages would
// cost more than the packing. Valid until the thread's next call with the same slot.
enum class Slot { kPanels, kWeights, kWeightPanels };
void* scratch(Slot slot, size_t bytes);

// ---- what an ISA provides

// A side with its elements in the written order: element k of line i, below L(i, k), is that of product/layout.h.
template <class T>
struct Operand {
  product::SideKind kind = product::SideKind::kStrided;
  const T* data = nullptr;
  int64_t batch_stride = 0;
  product::Strides strides;  // of kStrided
  // Of the others. For kPositions, k is in channel order (conv.h): (block of channels, tap, channel in the block). For
  // kTaps, i = channel * taps + tap and k = (image, row, column).
  product::WindowGrid grid;
};

inline constexpr int kMaxVectors = 3;
inline constexpr int kMaxRows = 24;
inline constexpr int kMaxWidth = 64;  // of a packed panel, in elements
inline constexpr int kFmaChains = 12;

// Terms one after another, counted from their first: where they begin on either side.
struct TermRun {
  int64_t left, right, terms;
};

// One chunk of one tile. Element (r, k) of the left panel is left[k * rows + r] (`tile`, `windows`) or
// left[r * left_row_stride + k] (`rows`); row k of the right panel has vectors * lanes elements. The terms of `windows`
// and `taps` come in runs, not counted by `terms`: vector v of term i of one lies at windows[v] + run.right + i *
// right_k_stride. Its left element is that of term run.left + i of the panel (`windows`), or left[r * left_row_stride +
// run.left + i] (`taps`). block and result are the tile's running totals, row after row.
template <class T>
struct TileStep {
  int64_t terms;
  const T* left;
  int64_t left_row_stride;
  const T* right;
  int64_t right_k_stride;
  const T* windows[kMaxVectors];
  const TermRun* runs;
  int64_t run_count;
  T *block, *result;
  bool load_block;   // not the first chunk of its block
  bool end_block;    // the last chunk of its block, or of all
  bool load_result;  // not in the first block
  bool last;         // the last chunk of all: add the bias, canonicalise, add the addend, take relu and store to c
  T* c;
  int64_t c_row_stride, columns;
  const T *row_bias, *column_bias;  // either may be null
  const T* addend;                  // of an Ending, as c lies; null: none
  bool relu;
};

template <class T>
using TileKernel = void (*)(const TileStep<T>&);
// Writes L(i0 + r, k0 + k) for r < count to dst[k * width + r], and +0 for count <= r < width. k0 begins a chunk and
// the range is a whole chunk. REQUIRES width <= kMaxWidth; scratch: width * (terms + kMaxWidth) elements.
template <class T>
using PackPanel = void (*)(const Operand<T>&, T* dst, T* scratch, int64_t width, int64_t i0, int64_t count, int64_t k0,
                           int64_t terms);

// Lines cut into panels of whole units, whose sizes differ by a unit at most.
struct Panels {
  int64_t units, unit, count;
  int64_t first(int64_t panel) const { return units * panel / count * unit; }
};

// What pack() does, of the first `used` panels, panel p of them at dst + first(p) * terms. Only for kStrided with lines
// one after another in memory (strides.line == 1), all of them there.
template <class T>
using PackAcross = void (*)(const Operand<T>&, T* dst, const Panels& panels, int64_t used, int64_t i0, int64_t k0,
                            int64_t terms);

// The same elements as rows: L(i0 + r, k0 + k) to dst[r * row_stride + k]. Only for kTaps, whose elements come
// that way round. REQUIRES row_stride >= terms.
template <class T>
using PackRows = void (*)(const Operand<T>&, T* dst, int64_t row_stride, int64_t i0, int64_t count, int64_t k0,
                          int64_t terms);

// to[k * to_stride + r] = from[r * from_stride + k] for k < terms and r < count, +0 for count <= r < width.
template <class T>
using TransposeRows = void (*)(T* to, int64_t to_stride, int64_t width, const T* from, int64_t from_stride,
                               int64_t count, int64_t terms);

// Rows of a plane with a border: to[r * width + x] = from[r * from_stride + (x - before) * step] where 0 <= x - before
// < inside, else +0, for x < width.
template <class T>
using PadRows = void (*)(const T* from, int64_t from_stride, int64_t step, int64_t before, int64_t inside, T* to,
                         int64_t width, int64_t rows);

// to[r * to_stride + l * step] = from[r * from_stride + l] for l < count. REQUIRES count <= lanes, or kMaxWidth where
// step is 1.
template <class T>
using CopyRows = void (*)(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t step, int64_t rows,
                          int64_t count);

// to[r * to_stride + l] = what an Ending (product/ending.h) makes of from[r * from_stride + l], which is canonical,
// with addend[r * to_stride + l] where there is one, for l < count. `to` may be `from`.
template <class T>
using EndRows = void (*)(const T* from, int64_t from_stride, const T* addend, bool relu, T* to, int64_t to_stride,
                         int64_t rows, int64_t count);

// kFmaChains chains of fmas in registers that do not wait for each other, each of `rounds` vectors: what the machine's
// units can do at most. The result says nothing, but that it has been computed.
template <class T>
using ChainFmas = T (*)(int64_t rounds);

template <class T>
struct Table {
  int lanes;
  int max_rows[kMaxVectors];                     // for 1, 2, 3 vectors; 0: not provided
  TileKernel<T> tile[kMaxVectors][kMaxRows];     // [vectors - 1][rows - 1]: left panel packed
  TileKernel<T> rows[kMaxVectors][kMaxRows];     // the same, left panel row by row
  TileKernel<T> windows[kMaxVectors][kMaxRows];  // the same, left panel packed, terms in runs
  TileKernel<T> taps[kMaxVectors][kMaxRows];     // the same, left panel row by row, terms in runs
  PackPanel<T> pack;
  PackAcross<T> pack_across;
  PackRows<T> pack_rows;
  TransposeRows<T> transpose;
  PadRows<T> pad_rows;
  CopyRows<T> copy_rows;
  EndRows<T> end_rows;
  ChainFmas<T> chain_fmas;
};

// One for every instruction set, T: float, double. A set without a file of its own has the portable one, compiled for
// it.
template <Isa kIsa, class T>
const Table<T>& table();

// REQUIRES isa_available(isa) and isa != kReference.
template <class T>
const Table<T>& table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table<T>& { return table<kIsa, T>(); });
}

}  // namespace isobit::kernels::gemm
