// The inner loops of products by residues, one table per instruction set. All of them give the same bits. Internal.
#pragma once

#include <cstdint>

#include "isobit/kernels/correct/integer/tiles.h"
#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::correct::integer {

// What the filter needs of one row and of its columns [0, n), all of one run of outputs.
struct RowOfSums {
  int moduli = 0, first = 0;  // of the first group (moduli.h)
  const int8_t* u = nullptr;  // u_s of column j: u[s * stride + j]
  int64_t stride = 0;
  const double* in_group = nullptr;  // for each modulus
  double group[2] = {}, inverse[2] = {};
  double row_scale = 0;                   // M * 2^-(the row's exponent)
  const double* column_scales = nullptr;  // 2^-(the column's exponent)
  // 2-norms, and 2-norms of what rounding to integers took; upper bounds.
  double row_norm = 0, row_rest = 0;
  const double* column_norms = nullptr;
  const double* column_rests = nullptr;
  double row_bias = 0;
  const float* column_bias = nullptr;  // null for none
  double share = 1;                    // of the bound; other than 1 for mutants
};

struct Table {
  // integers[q] = y[q] rounded to nearest, ties to even, rests[q] = y[q] - integers[q] (exact), q < kTile. Whether any
  // rest is not zero. REQUIRES |y[q]| < 2^50.
  bool (*round)(const double* y, double* integers, double* rests);
  // out[q] = integers[q] modulo p, nearest to zero, q < kTile. REQUIRES integers below 2^47.
  void (*residues)(const double* integers, int p, int8_t* out);
  // u[i * stride + j] = sums[32 i + j] * weight modulo p, nearest to zero; with `add` that much more than it is.
  // i, j < kBlock.
  void (*reduce)(const int32_t* sums, int p, int weight, bool add, int8_t* u, int64_t stride);
  // x[j], d[j]: the approximation and its bound (backend.h). dst[j] = float32(x - d), undecided[j] != 0 where float32(x
  // + d) has other bits or is NaN. Returns whether any is. REQUIRES n <= kSumColumns.
  bool (*filter)(int64_t n, const RowOfSums& row, float* dst, double* x, double* d, uint32_t* undecided);
  void (*multiply)(const Strip& strip, int32_t* sums);  // tiles.h
};

inline constexpr int64_t kSumColumns = 256;

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa_available(isa); kReference gets the portable ones.
const Table& table_of(Isa isa);

}  // namespace isobit::kernels::correct::integer
