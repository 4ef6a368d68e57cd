// Finding, in the outputs of an inner product, the few values that lie so close to a rounding boundary that another
// platform might round them the other way.
//
// The magnitude of an output is the sum of the magnitudes of its terms and bias, computed in a fixed order from
// operands that all parties share. All widths are in units of u = 2^-53 times the magnitude. With d the job's
// divergence, the largest distance of two platforms' results (RoundingRules::bounds_of), and z the exact value
// (exact_value.h):
//   a platform keeps to the bound where |x - z| <= d / 2 + 1;
//   an auditor needs an entry where round(y - w) != round(y + w),  w = d + 3;
//   a trainer writes one where round(x - w) != round(x + w),       w = 2 d + 8;
//   an entry is superfluous where round(z - w) == round(z + w),    w = 2.5 d + 12.
// Each covers the one before for any x, y that keep to the bound; the surplus is for the rounding of interval ends, one
// unit each, and of the magnitude (|x| is at most the magnitude, but for a part in 2^20). So where an auditor needs no
// entry its result rounds as z does, and so does that of a trainer that wrote none.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/kernels/rounding/matrix_norms.h"
#include "isobit/kernels/rounding/product_block.h"
#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {

inline constexpr double kUnit = 0x1p-53;
inline double exact_width(double d) { return (d / 2 + 1) * kUnit; }
inline double auditor_width(double d) { return (d + 3) * kUnit; }
inline double trainer_width(double d) { return (2 * d + 8) * kUnit; }
inline double superfluous_width(double d) { return (2.5 * d + 12) * kUnit; }

struct NearTie {
  uint64_t position = 0;  // in output 0 of the node
  uint32_t block = 0;
  int64_t i = 0, j = 0;
  double value = 0;      // in float64, not rounded
  double magnitude = 0;  // as above
};

struct Decided {
  std::vector<NearTie> rest;  // what is not, sorted by position, left as it was
  Extent extent;              // if it was wanted: at least that of the outputs, whatever the rest is rounded to
};

// What is known of the operands of a product: at least the 2-norm of any line of either, and the peak of the bias; of
// an operand of matrices, all norms (null: only the bound).
struct LineBounds {
  double first = 0, second = 0, bias = 0;
  const MatrixNorms *first_norms = nullptr, *second_norms = nullptr;
  // At least the magnitude of every output.
  double magnitude() const { return (first * second + bias) * (1 + 0x1p-19); }
};

// At least the 2-norm of any line of k of the elements.
double line_bound(int64_t k, const Extent& extent);

// Rounds every output of the blocks that is decided within `width` times its magnitude, in place. Also decided,
// whatever the width: infinities and NaN, which no order of a sum of float32 products can bring about or avoid; zeros
// and ties that every platform must compute exactly. `bounds`: infinity for what is unknown. REQUIRES the blocks of one
// call.
Decided round_decided(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, const LineBounds& bounds,
                      double width, int bits, bool with_extent = true);

// The sum of magnitudes of the terms and bias of an output: eight lanes, term l in lane l % 8, then the lanes in
// ascending order, then the bias. The same on every instruction set. REQUIRES isa_available(isa).
double magnitude_of(const ProductBlock& block, int64_t i, int64_t j, Isa isa = Isa::kPortable);

// The block and place of an output. REQUIRES position to be one of them.
NearTie locate(const std::vector<ProductBlock>& blocks, uint64_t position);

// The interval [low, high] of rounded values that x +- width * magnitude rounds to, +0 for zeros.
struct Candidates {
  double low = 0, high = 0;
  bool one() const { return low == high; }
  bool has(double v) const { return v >= low && v <= high; }
};
Candidates candidates(double x, double width, double magnitude, int bits);

}  // namespace isobit::kernels::rounding
