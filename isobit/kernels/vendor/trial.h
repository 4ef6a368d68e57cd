// What a vendor's product has to show before it is believed, and its fingerprint.
#pragma once

#include "isobit/base/bytes.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::kernels::vendor {

// Small products in every transposition with padded leading dimensions and NaN in the destination, within the bound of
// a classical sum; and two large enough for all threads: one whose results are subnormal and must be exact, one whose
// results are ties that must go to even.
Status try_products(MatrixProduct& product);

// Libraries choose their algorithm by size, mostly by the smallest dimension, and that of a product of correct-1 is
// 1,024 at most. The smaller of these costs next to nothing and finds most of what the larger would.
inline constexpr int64_t kTrialSizes[] = {512, 2048};

// The float64 products of kTrialSizes^3, made so that an algorithm shows which is not a sum of products in some order:
//   - rows of a and columns of b in eight exponent ranges that do not overlap, in no order, so that whatever mixes two
//     lines (Strassen's algorithm and its kin) carries the errors of the larger into the results of the smaller;
//   - factors from 2^-60 to 2^60 whose products are of one size, so that whatever cuts operands to a width shows;
//   - lines with one element that is not zero, whose results must be exact or rounded once, and with two.
// Looked at are three lines of each 32 of either operand, of the smallest range among them and those with few elements:
// 192 rows times 192 columns at 2,048. Claimed is no more than that these results lie within gamma_t times the sum of
// the magnitudes of their t nonzero terms. Not claimed: that the library computes other sizes, shapes, transpositions,
// thread counts and values by the same algorithm, or tomorrow. What a run needs is watched in the run
// (correct/watch.h).
// largest: sizes above it are left out. Errors: kUnavailable.
Status try_large_products(MatrixProduct& product, int64_t largest = INT64_MAX);

// The 257 x 257 x 257 products and their errors; kUnavailable when one is outside the bound.
Expected<VendorProbe> fingerprint(VendorProduct& product);

Bytes encode(const VendorProbe& probe);
Expected<VendorProbe> decode(ByteView bytes);

}  // namespace isobit::kernels::vendor
