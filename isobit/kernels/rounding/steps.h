// The inner loops of rounding, one table per instruction set. Every function gives the same bits in every one of them.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels::rounding {

// One row of an inner product's outputs, as the search for near-ties sees it: the scale of column j is
// row_norm * column_norms[j] + |row_bias| + |column_bias[j]|.
struct NearTieRow {
  double row_norm;
  const double* column_norms;
  double row_bias = 0;
  const double* column_bias = nullptr;  // null for none
  double width;                         // half the interval, per unit of scale
  int bits;
};

struct Steps {
  // x[i] = round_to_bits(x[i], bits).
  void (*round)(int64_t n, double* x, int bits);
  // x[j] becomes the value that both ends of [x - w, x + w] round to, +0 for a zero of either sign; where they round
  // differently flags[j] != 0 and x[j] stays. Returns whether any does.
  bool (*near_ties)(int64_t n, const NearTieRow& row, double* x, uint64_t* flags);
  // x[i] = round_to_bits(x[i], bits); against[i] != 0 where decisions[i] is 0 and it was rounded up, or 2 and it was
  // rounded down. Returns whether any is.
  bool (*compare)(int64_t n, const uint8_t* decisions, int bits, double* x, uint8_t* against);
  // decisions[i]: 1 where |x - r| <= threshold * (spacing of r), r = round_to_bits(x[i], bits); else 2 where x < r and
  // 0 where x > r. x[i] = r.
  void (*classify)(int64_t n, double threshold, int bits, double* x, uint8_t* decisions);
  // Sum of squares in eight lanes: lane l takes x[8 i + l] in ascending i, lanes are added in ascending l to a sum that
  // starts with the squares of the last n % 8 elements, ascending. No fma.
  double (*squares)(int64_t n, const double* x);
  // Sum of |a[l] * b[l]|: term l in lane l % 8, ascending, then the lanes in ascending order to a sum that starts at
  // +0.
  double (*magnitudes)(int64_t n, const double* a, const double* b);
  // sums[j] += x[l * ld + j]^2 for l < rows in ascending order, j < n. No fma.
  void (*column_squares)(int64_t rows, int64_t n, const double* x, int64_t ld, double* sums);
};

// REQUIRES isa_available(isa); kReference gets the portable ones.
const Steps& steps_of(Isa isa);

namespace portable {
extern const Steps kSteps;
}
namespace avx2 {
extern const Steps kSteps;
}
namespace avx512 {
extern const Steps kSteps;
}
namespace neon {
extern const Steps kSteps;
}

}  // namespace isobit::kernels::rounding
