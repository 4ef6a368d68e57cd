// An output from its residues, exactly. Internal.
#pragma once

#include "isobit/kernels/correct/integer/side.h"
#include "isobit/kernels/product/lines.h"

namespace isobit::kernels::correct::integer {

// The float32 nearest to integer * 2^exponent, ties to even; +0 for 0.
float rounded(Int128 integer, int exponent);

// Output (i, j) of the problem: with P the product of the integers of both lines (moduli.h) and r, q what rounding took
// of elements of line i, line j,
//     sum of a b + bias = 2^-(s_i + s_j) P + sum of r b + sum of a q - sum of r q + bias,
// the sums over the few elements that have such. All of it goes into an exact accumulator, and is rounded once.
// REQUIRES finite lines and bias, has_all_rests of both, (i, j) of lines that both sides hold.
float exact_output(const IntegerSide& left, const IntegerSide& right, const product::Matrices<float>& problem,
                   int64_t i, int64_t j, Int128 product);

}  // namespace isobit::kernels::correct::integer
