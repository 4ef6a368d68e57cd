// `correct-1` inner products on integer matrix units: an approximation with a bound of its own in place of a float64
// product, behind the filter and exact decisions. Determinism class: `correct-1`. Internal.
//
// Both sides become integers (side.h), whose product P is known by its residues modulo N coprime numbers (moduli.h),
// each an int8 product of matrices (table.h) summed in int32 over at most kTerms terms, and modulo p beyond. Then
//     x = f * (M 2^-s) 2^-t,   f = S - rint(S),   S = the sum of u_s / p_s,
// s and t the exponents of row and column. With u = 2^-53, r and q what rounding took of row and column:
//   - |P| <= M / 2 (1 - 2^-11), the norms of the integers being at most sqrt(M / 2) (1 - 2^-11): so f is P / M itself
//     but for the error of S, which is below 2^-48.
//   - S is the sum of two quotients of integers that are exact, each at most 3, by rounded reciprocals: off by
//     12 u, and 6 u for their sum, which is at most 6; S - rint(S) is exact. Scaling: two roundings of
//     |x| <= M 2^-(s+t) / 2.
//   - The exact sum is 2^-(s+t) P + sum of r b + sum of (a - r) q. The last two are at most the products of
//     2-norms, and at most the sum of magnitudes of one times the largest of the other: the less of both is taken,
//     since only a few elements of trained values leave a rest.
//   - Two more roundings of x, at the bias and at x +- d, each u (M 2^-(s+t) / 2 + |bias|) at most.
// So |x - exact sum| and the rounding of x +- d are below
//     d = 24 u M 2^-(s+t) + min(|r|_2 |b|_2, |r|_1 |b|_max) + min(|a|_2 |q|_2, |a|_max |q|_1) + 4 u |bias|,
// where 20 u and 2 u are used, of either product one factor is an upper bound with 2^-20 to spare (side.h), and the
// roundings of d are covered by both.
//
// Nothing else is known of x: what closer_look.h concludes from a sum's being one of float64 additions holds of none.
// Where x - d and x + d round apart, the output is put together exactly (exact.h), or, for lines that are not finite or
// that rounding took much of, evaluated anew from its terms (repair.h). A product of which more than kMostUndecided of
// the outputs would be so, by five lines of either side, is left to the float64 product, as is a small one.
// Source: the idea of products by residues is that of K. Ozaki, Y. Uchino and T. Imamura, Ozaki scheme II: a
// GEMM-oriented emulation of floating-point matrix multiplication using an integer modular technique, arXiv 2504.08009;
// the bound, the reconstruction and the exact decisions are ours.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/kernels/correct/integer/side.h"
#include "isobit/kernels/correct/integer/table.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/watch.h"

namespace isobit::kernels::correct::integer {

inline constexpr int64_t kTerms = 2048;  // of a block, a multiple of kStep
inline constexpr double kMostUndecided = 0.25;

struct Options {
  // Products are left to the float64 product that have fewer terms, or in which an element takes part in fewer sums, by
  // the harmonic mean of both sides: then making integers of them takes longer than the sums.
  int64_t least_sums = 1, least_terms = 1;
  // Other than 0, for tests: this many moduli, whatever the operands, and no product is left to others.
  int moduli = 0;
};

// Sizes from which it is taken on a matrix unit: where it was as fast as our own float64 product on one and on two
// threads.
inline constexpr Options kOnMatrixUnits = {.least_sums = 400, .least_terms = 256};

class Backend {
 public:
  explicit Backend(const Unit& unit, const Options& options = {}) : unit_(unit), options_(options) {}

  const char* unit() const { return unit_.name; }
  // Of all products so far, those that it computed.
  int64_t products() const { return products_; }

  // Whether it took the product and wrote its outputs; false: nothing has been written. REQUIRES m, n, k >= 1, no size
  // of 2^31 or more. Errors (kUnavailable): an output of the watch's sample that is not what it must be.
  Expected<bool> run(const CorrectContext& ctx, const Matrices& problem, Statistics& statistics);

 private:
  struct Collected;
  struct Next;
  struct Part;
  struct Tile;
  struct Work;
  int choose(const CorrectContext& ctx, const Matrices& problem) const;
  Status compute(const CorrectContext& ctx, const Matrices& problem, const Tile& tile, const Moduli& moduli,
                 Statistics& statistics);
  void compute_rows(const Work& w, int64_t begin, int64_t end, bool first_terms, bool last_terms);
  void multiply(const Moduli& moduli, const Part& part, int s, const Next& next, bool add);
  void filter(const Work& w, const Part& part, Collected& own);
  void show_bounds(const Work& w, const RowOfSums& row, int64_t i, int64_t j, int64_t count);
  void settle(const Work& w, const Part& part, int64_t i, int64_t j, float& out, Collected& own);

  // Of sums_. Rows, and the sums of all moduli of an output, must not all fall into the same few sets of a cache.
  int64_t row_stride() const { return (right_.blocks() + 1) * kBlock; }
  int64_t modulus_stride() const { return left_.blocks() * kBlock * row_stride() + 5 * kBlock; }

  const Unit unit_;
  const Options options_;
  int64_t products_ = 0;
  IntegerSide left_{IntegerSide::Which::kLeft}, right_{IntegerSide::Which::kRight};
  std::vector<int8_t> sums_;  // u_s of the tile's outputs, where terms come in several blocks
};

// The matrix unit of this machine for what is large enough; null where there is none.
std::unique_ptr<Backend> open_matrix_unit();

}  // namespace isobit::kernels::correct::integer
