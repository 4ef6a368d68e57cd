// The sum of a stack of matrix products, added up as the products are made: the gradient of weights that every step of
// a sequence, or every sample of a batch, multiplies. The stack itself, as many times as large as the sum, is never in
// memory.
//
// Determinism class: `ordered-1`. The bits are those of matmul (matmul.h) followed by reduce_sum (reduce/reduce.h)
// over the batch.
#pragma once

#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels {

// The most products of a stack and terms of each that sum_of_products takes.
inline constexpr int64_t kMostStacked = 2048, kMostStackedTerms = kMatmulChunk;

// Whether adding up as the products are made is expected to be faster than matmul and reduce_sum: of many products
// together larger than a second-level cache, with few terms each. Sizes count alone, not strides or data.
bool worth_summing(const MatmulArgs<float>& args);

// dst[i, j] = Sum over the batch of output (i, j) of its product; dst is dense, [m, n]. args.c and its strides are not
// looked at; no bias, nothing kept. REQUIRES 1 <= batch <= kMostStacked and 1 <= k <= kMostStackedTerms; dst overlaps
// no operand. Both operands are laid out anew in scratch memory, 16 MiB at a time
// or what 128 of their lines take.
void sum_of_products(const KernelContext& ctx, const MatmulArgs<float>& args, float* dst);

}  // namespace isobit::kernels
