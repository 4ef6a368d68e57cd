// Which tiles of an instruction set's table a product is cut into. Internal to the driver: no bit depends on it.
#pragma once

#include <algorithm>

#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/matmul/problem.h"

namespace isobit::kernels::gemm {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Where part `part` of so many begins, of sizes that differ by one at most.
inline int64_t first_of(int64_t size, int64_t part, int64_t parts) { return size * part / parts; }

// How the outputs are cut into tiles, and whether the operands are exchanged first because that fits the vectors
// better.
template <class T>
struct Tiling {
  bool swapped = false;
  int vectors = 1;
  int64_t mr = 1;   // most rows of a tile; its columns, nr, are vectors * lanes
  double cost = 0;  // cycles for one term of all outputs, packing included
};

template <class T>
double packing_cost(const Operand<T>& op, bool right) {
  switch (op.kind) {
    case product::SideKind::kStrided:
      if (op.strides.line == 1) return 0.1;
      return op.strides.inner == 1 ? (right ? 0.4 : 0.1) : 1.5;
    case product::SideKind::kPositions:
      return 0.3;
    case product::SideKind::kTaps:
      return right ? 1.2 : 0.7;  // as rows it is only copied
  }
  return 1;
}

// Estimated cycles per term with two fma and two load units; only the comparison matters.
inline double tile_cost(int64_t rows, int64_t vectors) {
  return std::max({0.5 * static_cast<double>(rows * vectors), 0.5 * static_cast<double>(rows + vectors), 4.0});
}

// Splits `size` into `parts` whose sizes differ by at most one: how many have the larger size, and the smaller size.
struct Even {
  int64_t parts, small, larger_count;
  Even(int64_t size, int64_t most) : parts(ceil_div(size, most)), small(size / parts), larger_count(size % parts) {}
};

template <class T>
double grid_cost(const Table<T>& kernels, int64_t m, int64_t n, int vectors) {
  const Even r(m, kernels.max_rows[vectors - 1]), c(ceil_div(n, kernels.lanes), vectors);
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const int64_t tiles =
          (i ? r.larger_count : r.parts - r.larger_count) * (j ? c.larger_count : c.parts - c.larger_count);
      if (tiles) sum += static_cast<double>(tiles) * tile_cost(r.small + i, c.small + j);
    }
  }
  return sum;
}

// The vectors of a tile by which m x n outputs take the fewest cycles, and how many those are.
struct Width {
  int vectors = 1;
  double cost = 0;
};

template <class T>
Width best_width(const Table<T>& kernels, int64_t m, int64_t n) {
  Width best;
  for (int vectors = 1; vectors <= kMaxVectors; ++vectors) {
    if (!kernels.max_rows[vectors - 1]) continue;
    const double cost = grid_cost(kernels, m, n, vectors);
    if (best.cost == 0 || cost < best.cost) best = {vectors, cost};
  }
  return best;
}

// Fetches part `part` of so many of `size` elements into a second-level cache.
template <class T>
void prefetch_part(const T* from, int64_t size, int64_t part, int64_t parts) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t end = first_of(size, part + 1, parts);
  for (int64_t i = first_of(size, part, parts); i < end; i += kLine) __builtin_prefetch(from + i, 0, 2);
}

// What a tile of chunk `chunk` does with its running totals, of so many chunks.
template <class T>
void begin_chunk(TileStep<T>& step, int64_t chunk, int64_t chunks) {
  step.load_block = chunk % kChunksPerBlock != 0;
  step.load_result = chunk >= kChunksPerBlock;
  step.last = chunk + 1 == chunks;
  step.end_block = step.last || (chunk + 1) % kChunksPerBlock == 0;
}

template <class T>
Tiling<T> tiling_of(const Table<T>& kernels, const Problem<T>& p, int64_t m, int64_t n) {
  Tiling<T> best;
  const double terms = static_cast<double>(std::max<int64_t>(1, p.order.terms()));
  for (int swap = 0; swap < (p.padded ? 1 : 2); ++swap) {
    const Operand<T>& left = swap ? p.right : p.left;
    const Operand<T>& right = swap ? p.left : p.right;
    const double rows = static_cast<double>(swap ? n : m), columns = static_cast<double>(swap ? m : n);
    double fixed = rows * packing_cost(left, false) + columns * packing_cost(right, true);
    if (swap) fixed += rows * columns / terms;
    const Width width = best_width(kernels, swap ? n : m, swap ? m : n);
    const double cost = fixed + width.cost;
    if (swap == 0 || cost < best.cost) {
      best = {swap != 0, width.vectors, kernels.max_rows[width.vectors - 1], cost};
    }
  }
  return best;
}

// How many parts along rows and columns one batch entry is cut into.
struct Grid {
  int64_t rows = 1, columns = 1;
};

inline Grid cut(int64_t m, int64_t n, int64_t parts, int64_t lanes) {
  Grid best{1, 1};
  double least = 0;
  for (int64_t rows = 1; rows <= parts; ++rows) {
    const int64_t columns = parts / rows;
    // Work of the largest part, plus the packing that every part repeats.
    const double r = static_cast<double>(ceil_div(m, rows));
    const double c = static_cast<double>(ceil_div(ceil_div(n, lanes), columns) * lanes);
    const double cost = r * c + 8 * (r + c);
    if (least == 0 || cost < least) {
      least = cost;
      best = {rows, columns};
    }
  }
  return best;
}

}  // namespace isobit::kernels::gemm
