// The inner loops of rounding, one table per instruction set. Every function gives the same bits in every one of them.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::rounding {

// How large some values are. For bounds: the squares are summed in unspecified order.
struct Extent {
  double peak = 0;     // the largest magnitude; infinity if one is NaN
  double squares = 0;  // the sum of the squares
};

// Half the width of an interval around value j: width + scale * norms[j].
struct Interval {
  double width;  // finite if there are no norms
  double scale = 0;
  const double* norms = nullptr;  // null for none; width + scale * norms[j] may be infinite, but not NaN
};

struct Table {
  // Adds n values to the extent.
  void (*measure)(int64_t n, const double* x, Extent* extent);
  // x[i] = round_to_bits(x[i], bits). Adds the rounded values to the extent; null: nobody wants it.
  void (*round)(int64_t n, double* x, int bits, Extent* extent);
  // x[j] becomes the value that both ends of [x - w, x + w] round to, w as the interval says, +0 for a zero of either
  // sign; where they round differently x[j] stays and j is written to `undecided`, ascending. Infinities and NaN are
  // rounded. Returns how many are undecided. Adds to the extent (null: nobody wants it): to its peak all ends, to its
  // squares at least the lower ones, rounded.
  int64_t (*sieve)(int64_t n, const Interval& interval, int bits, double* x, int32_t* undecided, Extent* extent);
  // x[i] = round_to_bits(x[i], bits); against[i] != 0 where decisions[i] is 0 and it was rounded up, or 2 and it was
  // rounded down. Returns whether any is.
  bool (*compare)(int64_t n, const uint8_t* decisions, int bits, double* x, uint8_t* against);
  // decisions[i]: 1 where |x - r| <= threshold * spacing(x, bits), x = x[i], r = round_to_bits(x, bits); else 2 where
  // x < r and 0 where x > r. x[i] = r. The spacing is that at x: where r is the next power of two, half of that at r.
  void (*classify)(int64_t n, double threshold, int bits, double* x, uint8_t* decisions);
  // Sum of squares in eight lanes: lane l takes x[8 i + l] in ascending i, lanes are added in ascending l to a sum that
  // starts with the squares of the last n % 8 elements, ascending. No fma.
  double (*squares)(int64_t n, const double* x);
  // Sum of |a[l] * b[l]|: term l in lane l % 8, ascending, then the lanes in ascending order to a sum that starts at
  // +0.
  double (*magnitudes)(int64_t n, const double* a, const double* b);
  // sums[j] += x[l * ld + j]^2 for l < rows in ascending order, j < n. No fma.
  void (*column_squares)(int64_t rows, int64_t n, const double* x, int64_t ld, double* sums);
  // sums[j] += x[j]^2; returns the sum of the squares, in unspecified order.
  double (*squares_of_each)(int64_t n, const double* x, double* sums);
};

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa_available(isa); kReference gets the portable ones.
const Table& table_of(Isa isa);

}  // namespace isobit::kernels::rounding
