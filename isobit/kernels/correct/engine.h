// The machinery of `correct-1` inner products, for any pair of operands. Internal.
//
// The matrix is computed in tiles; k in slices of 512 terms (one slice if k <= 1,024), each one call of the float64
// product; slices and bias are added here, in ascending order. With u = 2^-53, L the length of a slice and S their
// number, an output is the result of at most (L - 1) + (S - 1) + 1 roundings along any path of additions, so it is off
// by at most gamma_(L+S-1) times the sum of magnitudes. One more rounding happens in x - d and x + d. The filter uses
//     d = gamma_n * (1 + 2^-20) * (|row| * |column| + |bias|),   n = L + S + 1,   gamma_n = n u / (1 - n u),
// 2-norms standing for the sum of magnitudes (Cauchy-Schwarz); 1 + 2^-20 covers the rounding of norms (k < 2^31) and d.
// Source of gamma_n: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1.
#pragma once

#include <cstdint>

#include "isobit/kernels/correct/instruments.h"
#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/source.h"
#include "isobit/kernels/product/lines.h"

namespace isobit::kernels::correct {

inline constexpr int64_t kSlice = 512;
inline constexpr int64_t kSingleSlice = 1024;  // up to this k

// At most one bias.
using Matrices = product::Matrices<float>;

// The largest m, n and k. With more terms, 1 + 2^-20 does not cover the rounding of norms; lines that have undecided
// outputs are numbered in 32 bits (undecided_lines.h).
inline constexpr int64_t kMostTerms = (int64_t{1} << 31) - 1;

// gamma_n * (1 + 2^-20)
inline double gamma(int64_t n) {
  const double nu = static_cast<double>(n) * 0x1p-53;
  return nu / (1 - nu) * (1 + 0x1p-20);
}

// REQUIRES m, n, k >= 0; ctx.kernel.isa != kReference. Errors: those of correct/matmul.h.
Status run(const CorrectContext& ctx, const Matrices& problem);

}  // namespace isobit::kernels::correct
