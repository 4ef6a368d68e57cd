// The inner loops of products by residues. All implementations give the same bits: their arithmetic is that of integers
// without overflow or of floating-point numbers without error, but for the filter's, which follows one order. Internal.
//
// There is a table for every instruction set (tables.cpp), on every machine, and one of the AMX unit of x86 and the
// byte instructions beside it (amx.cpp, amx_loops.cpp).
#pragma once

#include <cstdint>

#include "isobit/kernels/correct/integer/moduli.h"
#include "isobit/kernels/correct/integer/tiles.h"
#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::correct::integer {

// Of a line; upper bounds.
struct LineBounds {
  double norm = 0, largest = 0;   // 2-norm, and the largest magnitude of an element
  double rest = 0, rest_sum = 0;  // of what rounding to integers took: 2-norm, and the sum of magnitudes
};

// How far the approximation may be from the integers' product, in units of M 2^-(s+t) (backend.h): 24 * 2^-53.
inline constexpr double kBoundOfSums = 0x1.8p-49;

// What the filter needs of one row and of its columns [0, n), all of one run of outputs.
struct RowOfSums {
  int moduli = 0;
  const int8_t* u = nullptr;  // u_s of column j: u[s * stride + j]
  int64_t stride = 0;
  const double* in_group = nullptr;       // for each modulus
  const double* inverse = nullptr;        // 1 over the products of the two groups
  double row_scale = 0;                   // M * 2^-(the row's exponent)
  const double* column_scales = nullptr;  // 2^-(the column's exponent)
  LineBounds row = {};
  const double *column_norms = nullptr, *column_largest = nullptr;  // as of the row
  const double *column_rests = nullptr, *column_rest_sums = nullptr;
  bool biased = false;  // whether either bias takes part
  double row_bias = 0;
  const float* column_bias = nullptr;  // null for none
  double share = 1;                    // of the bound; other than 1 for mutants
};

// Lines of one side as its source lays them out.
struct Raw {
  const double* from = nullptr;
  int64_t ld = 0;
  bool lines_first = false;        // element l of line i lies at ld * i + l, or else at ld * l + i
  int64_t lines = 0, terms = 0;    // of a panel's step, those that there are
  const double* scales = nullptr;  // of each line, a power of two; 0: all its elements become 0, infinities too
};

struct Table {
  // y = the panel's step, scaled, each element at its place on the left or right side (tiles.h); 0 where there is none.
  void (*arrange)(const Raw& raw, bool right, double* y);
  // integers[q] = y[q] rounded to nearest, ties to even, rests[q] = y[q] - integers[q] (exact), q < kTile; some[q / 8]:
  // not 0 if one of these 8 rests is not zero. Whether any is. REQUIRES |y[q]| < 2^50.
  bool (*round)(const double* y, double* integers, double* rests, uint8_t* some);
  // largest[i] = the largest magnitude in line i of a panel's step, at its places, or what it was before if that is
  // more.
  void (*enlarge)(const double* integers, bool right, double* largest);
  // out[s * stride + q] = integers[q] modulo p_s, nearest to zero, q < kTile, of all moduli. REQUIRES integers below
  // 2^47.
  void (*residues)(const double* integers, const Moduli& moduli, int8_t* out, int64_t stride);
  // u[i * stride + j] = sums[32 i + j] * w_s modulo p_s, nearest to zero; with `add` that much more than it is.
  // i, j < kBlock.
  void (*reduce)(const int32_t* sums, const Moduli& moduli, int s, bool add, int8_t* u, int64_t stride);
  // dst[j] = float32(x - d), undecided[j] != 0 where float32(x + d) has other bits or is NaN; x and d: the
  // approximation and its bound (backend.h). Returns whether any is. REQUIRES n <= kSumColumns.
  bool (*filter)(int64_t n, const RowOfSums& row, float* dst, uint32_t* undecided);
  // x and d themselves.
  void (*approximate)(int64_t n, const RowOfSums& row, double* x, double* d);
  // sums[1024 q + 32 i + j] = the product of line i of the left side with line 32 q + j of the right side.
  // REQUIRES 64 * steps <= 131071, so that no sum leaves int32.
  void (*multiply)(const Strip& strip, int32_t* sums);
};

inline constexpr int64_t kSumColumns = 256;

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa_available(isa); kReference gets the portable ones.
const Table& table_of(Isa isa);

// What computes integer products. A value that never changes.
struct Unit {
  const char* name;  // "plain", "amx"
  Table loops;
  // Products of elements in a nanosecond and thread, about: for choosing how many moduli are worth it. Reaches no bit.
  double rate;
};

// Loops. REQUIRES isa_available(isa).
Unit plain_unit(Isa isa);

// Whether the CPU has AMX int8 and the operating system lets this process use it, which is asked for at the first call.
bool amx_is_there();
// Whether it is there, and what it first computes comes out as it does by the loops: what platforms ask.
bool amx_available();
// REQUIRES amx_is_there().
Unit amx_unit();

}  // namespace isobit::kernels::correct::integer
