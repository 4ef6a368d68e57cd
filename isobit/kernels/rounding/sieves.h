// The sieves of near_ties.h. Internal.
//
// Each has a magnitude that is never less than the next one's, so that what it decides they would decide alike: one
// bound for all outputs, from the operands' extents, which costs next to nothing; where it leaves much, the product of
// the lines' 2-norms (Cauchy-Schwarz), first those of the shorter operand with one bound for the other's; and what is
// left, with the magnitude itself. Whether an output is decided depends on the last one alone, and never on how much
// else was looked at: other platforms look at others.
#pragma once

#include "isobit/kernels/rounding/near_ties.h"

namespace isobit::kernels::rounding {

inline constexpr double kSlack = 0x1p-20;  // more than all roundings of a magnitude or of a norm

// The exponent of the largest power of two that divides x. REQUIRES x != 0; what is not finite counts as the least.
int quantum_of(double x);

// Terms that are multiples of 2^quantum and whose magnitudes add up to no more than 2^53 times that: no addition, in
// whatever order, can round.
bool adds_exactly(double magnitude, int quantum);

// Rounds what all but the last decide, in place; the rest is in no order.
Decided first_sieves(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, const LineBounds& bounds,
                     double width, int bits, bool with_extent);

// Rounds what the last one decides, in place, and removes it. Sets the magnitudes of the rest.
//   - Zeros and ties that no order of additions can change are decided, whatever the width: all terms are multiples of
//     one power of two q, and their magnitudes add up to no more than 2^53 q.
void last_sieve(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, double bound, double width, int bits,
                std::vector<NearTie>& ties);

}  // namespace isobit::kernels::rounding
