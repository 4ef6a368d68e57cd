// What sums and maxima of all families build upon: float32 loops with one version per instruction set.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::reduce {

struct Table {
  // Sum of `spans` spans of n floats that begin `stride` apart; false when only an exact addition can tell.
  bool (*sum)(const float* x, int64_t spans, int64_t stride, int64_t n, float* rounded);
  // The float64 sum of squares of n floats in [*sum - *error, *sum + *error] (all NaN when an element is not finite).
  void (*sum_of_squares)(const float* x, int64_t n, double* sum, double* error);

  // Running sums, sums of magnitudes and least magnitudes other than zero of `cols` columns over some rows. The
  // rounding bound grows by column_steps(rows) a call.
  void (*add_columns)(const float* x, int64_t rows, int64_t row_stride, int64_t cols, double* sum, double* size,
                      float* least);
  // dst[j] = the rounded sum; undecided[j] = 1 where only an exact addition can tell. Returns how many those are.
  int64_t (*round_columns)(int64_t cols, const double* sum, const double* size, const float* least, double steps,
                           float* dst, uint8_t* undecided);

  // `rows` more terms, one after another in memory, of each of n sums; largest and least magnitudes other than zero.
  // REQUIRES that x overlaps no total. Of a NaN the magnitude is left out: the sum tells it.
  void (*add_terms)(int64_t n, int64_t rows, const float* x, double* sum, float* largest, float* least);

  float (*max)(const float* x, int64_t n);
  // Over rows of `cols` columns; best: the largest so far, as keys.
  void (*max_columns)(const float* x, int64_t rows, int64_t row_stride, int64_t cols, int32_t* best, float* dst);
};

// Columns handled at once: their float64 totals stay in the first-level cache.
constexpr int64_t kColumnBlock = 1024;
constexpr int64_t kColumnChunk = 64;
constexpr double column_steps(int64_t rows) { return static_cast<double>(kColumnChunk + rows / kColumnChunk + 4); }

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa is available and not kReference.
const Table& table_of(Isa isa);

}  // namespace isobit::kernels::reduce
