// The inner loops of `correct-1`, one table per instruction set. They may differ in the last bits of sums of squares
// and of doubled-precision sums: nothing that is decided with them depends on those.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::correct {

// What the filter needs of one row, and of its columns [0, n).
struct FilterRow {
  const double* total;         // sum of the slices but the last
  const double* slice;         // the last slice; null if there is one slice only
  const double* column_norms;  // 2-norms
  const float* column_bias;    // null for none
  double row_bias;             // a float32 value, 0 for none
  double row_scale;            // gamma * norm of the row
  double gamma;                // bound per unit of magnitude, for the bias
  bool biased;                 // whether either bias takes part
};

// A value as an unevaluated sum of two float64 numbers.
struct Doubled {
  double high, low;
};

struct Table {
  // out[l] = src[l].
  void (*widen)(int64_t n, const float* src, double* out);
  // Sum of squares.
  double (*squares)(int64_t n, const double* x);
  double (*squares_f32)(int64_t n, const float* x);
  // sums[j] += x[l * ld + j]^2 for l < rows, j < n.
  void (*column_squares)(int64_t rows, int64_t n, const double* x, int64_t ld, double* sums);
  void (*column_squares_f32)(int64_t rows, int64_t n, const float* x, int64_t ld, double* sums);
  // total[i] += slice[i].
  void (*add)(int64_t n, const double* slice, double* total);
  // dst[j] = float32(x - d), undecided[j] != 0 where float32(x + d) has other bits or is NaN. Returns whether any is.
  // REQUIRES n <= kFilterColumns.
  bool (*filter)(int64_t n, const FilterRow& row, float* dst, uint32_t* undecided);
  // dst[j] = float32(x), without any bound.
  void (*round)(int64_t n, const FilterRow& row, float* dst);
  // Sum of a[l] * b[l], finite values, in doubled precision: off by at most (k + 32)^2 u^2 (1 + 2^-20) times the sum of
  // magnitudes, u = 2^-53.
  Doubled (*dot)(int64_t k, const float* a, const float* b);
  // Bit l of mask: x[l] != 0 (NaN counts). (k + 63) / 64 words.
  void (*mask)(int64_t k, const float* x, uint64_t* mask);
  // The same of float64 numbers that are float32 values.
  void (*mask_f64)(int64_t k, const double* x, uint64_t* mask);
  // Bit l of words[j]: x[l * ld + j] != 0, for l < rows, j < n. REQUIRES rows <= 64, float32 values.
  void (*column_masks)(int64_t rows, int64_t n, const double* x, int64_t ld, uint64_t* words);
  // The largest e such that every x[l] is an integer multiple of 2^e; kNoGrid if all are zero. REQUIRES finite values.
  int (*grid)(int64_t k, const float* x);
  int (*grid_f64)(int64_t k, const double* x);  // of float32 values in float64
};

inline constexpr int64_t kFilterColumns = 256;
inline constexpr int kNoGrid = 1000;

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa_available(isa); kReference gets the portable ones.
const Table& table_of(Isa isa);

}  // namespace isobit::kernels::correct
