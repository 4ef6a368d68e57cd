// Finding, in the outputs of an inner product, the few values that lie so close to a rounding boundary that another
// platform might round them the other way; and evaluating single ones exactly.
//
// The magnitude of an output is the sum of the magnitudes of its terms and bias, computed in a fixed order from
// operands that all parties share. With d the largest distance of two platforms' results in units of u = 2^-53 times
// the magnitude (RoundingRules::divergence_of), widths in those units, the surplus covering the rounding of interval
// ends and of the magnitude (|x| is at most the magnitude, but for a part in 2^20):
//   an auditor needs an entry where round(y - w) != round(y + w),  w = d + 1;
//   a trainer writes one where round(x - w) != round(x + w),       w = 2 d + 4, which covers every such y;
//   an entry is superfluous where round(y - w) == round(y + w),    w = 3 d + 8.
// e = d / 2 + 1 bounds the distance of one platform's result from the exact value.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/kernels/rounding/steps.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {

inline constexpr double kUnit = 0x1p-53;
inline double auditor_width(double d) { return (d + 1) * kUnit; }
inline double trainer_width(double d) { return (2 * d + 4) * kUnit; }
inline double superfluous_width(double d) { return (3 * d + 8) * kUnit; }
inline double exact_width(double d) { return (d / 2 + 1) * kUnit; }

struct NearTie {
  uint64_t position = 0;  // in output 0 of the node
  uint32_t block = 0;
  int64_t i = 0, j = 0;
  double value = 0;      // in float64, not rounded
  double magnitude = 0;  // as above
};

struct Decided {
  std::vector<NearTie> rest;         // what is not, sorted by position, left as it was
  kernels::rounding::Extent extent;  // at least that of the outputs, whatever the rest is rounded to
};

// Rounds every output of the blocks that is decided within `width` times its magnitude, in place. Also decided,
// whatever the width: infinities and NaN, which no order of a sum of float32 products can bring about or avoid; zeros
// and ties that every platform must compute exactly. `bound`: at least the magnitude of every output; infinity if
// unknown. REQUIRES the blocks of one call.
Decided round_decided(const kernels::KernelContext& ctx, const std::vector<ProductBlock>& blocks, double bound,
                      double width, int bits);

// At least the magnitude of every output of a sum of k products, from the extents of the operands and the peak of the
// bias (0 for none).
double magnitude_bound(int64_t k, const kernels::rounding::Extent& left, const kernels::rounding::Extent& right,
                       double bias_peak);

// The sum of magnitudes of the terms and bias of an output: eight lanes, term l in lane l % 8, then the lanes in
// ascending order, then the bias. The same on every instruction set. REQUIRES isa_available(isa).
double magnitude_of(const ProductBlock& block, int64_t i, int64_t j, kernels::Isa isa = kernels::Isa::kPortable);

// The block and place of an output. REQUIRES position to be one of them.
NearTie locate(const std::vector<ProductBlock>& blocks, uint64_t position);

// The inner product and bias of an output as an unevaluated sum of two float64 values. The products are exact and their
// sum is compensated once, so it is off by less than ((k + 2) 2^-53)^2 of its magnitude for k up to 2^26: 2^-96 where
// k is 30, 2^-74 where it is 65,536. REQUIRES operands that are float32 values.
struct ExactValue {
  double high = 0, low = 0;
};
ExactValue evaluate_exactly(const ProductBlock& block, int64_t i, int64_t j);

// The interval [low, high] of rounded values that x +- width * magnitude rounds to, +0 for zeros.
struct Candidates {
  double low = 0, high = 0;
  bool one() const { return low == high; }
  bool has(double v) const { return v >= low && v <= high; }
};
Candidates candidates(double x, double width, double magnitude, int bits);
// The same around an exact value.
Candidates candidates(const ExactValue& z, double width, double magnitude, int bits);

}  // namespace isobit::runtime
