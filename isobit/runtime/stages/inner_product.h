// The outputs of an inner-product operator in float64, seen as matrices: output (i, j) is the sum over l < k of element
// l of line i of the left side times element l of line j of the right side, plus a bias.
//
// What the rounding of logged arithmetic needs to know of them: the scale of every output, the 2-norm of its left line
// times that of its right line plus the magnitude of its bias, which is at least the sum of magnitudes of its terms.
// Norms are computed in a fixed order from operands that all parties share, so that all have the same scales to the
// bit.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

struct ProductBlock {
  int64_t m = 0, n = 0, k = 0;
  // Output (i, j) lies at out[i * row_stride + (j / columns) * column_stride + j % columns]; out is output 0 of the
  // call plus `offset`.
  double* out = nullptr;
  int64_t offset = 0;
  int64_t row_stride = 0, columns = 1, column_stride = 0;
  std::vector<double> row_norms, column_norms;
  const double* row_bias = nullptr;     // length m; at most one of the two
  const double* column_bias = nullptr;  // length n
  // The whole operands that the lines are taken from, other blocks' lines included; in the order of the call.
  std::span<const double> first_operand, second_operand;
  // Writes the k elements of a line; they refer to the operands of the call.
  std::function<void(int64_t line, double* to)> left, right;

  int64_t at(int64_t i, int64_t j) const { return i * row_stride + j / columns * column_stride + j % columns; }
  double bias(int64_t i, int64_t j) const {
    return row_bias != nullptr ? row_bias[i] : column_bias != nullptr ? column_bias[j] : 0.0;
  }
  double scale(int64_t i, int64_t j) const {
    const double b = bias(i, j);
    return row_norms[static_cast<size_t>(i)] * column_norms[static_cast<size_t>(j)] + (b < 0 ? -b : b);
  }
};

// Whether float64 results of this operator depend on the platform: MatMul, Gemm, Conv and its gradients. Every other
// operator is computed by our own kernels, the same everywhere.
bool is_inner_product(const std::string& op);

// The matrices of a call that has run. REQUIRES is_inner_product, float64 operands.
std::vector<ProductBlock> product_blocks(KernelCall& call);

// Of product_blocks, for the convolution operators.
std::vector<ProductBlock> convolution_blocks(KernelCall& call);

}  // namespace isobit::runtime
