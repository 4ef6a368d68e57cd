// The outputs of an inner-product operator in float64, seen as matrices: output (i, j) is the sum over l < k of element
// l of line i of the left side times element l of line j of the right side, plus a bias.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "isobit/platform/arithmetic.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/stages/lines.h"

namespace isobit::runtime {

// One of the equal matrices of a call. They fill output 0: those of a batch one after the other, those of the groups of
// a convolution image by image.
struct ProductBlock {
  int64_t m = 0, n = 0, k = 0;
  // Output (i, j) lies at out[i * columns + (j / columns) * column_stride + j % columns]; out is output 0 of the call
  // plus `offset`. column_stride is zero where all columns are in one piece.
  double* out = nullptr;
  int64_t offset = 0;
  int64_t columns = 1, column_stride = 0;
  const double* row_bias = nullptr;     // length m; at most one of the two
  const double* column_bias = nullptr;  // length n
  // The whole operands that the lines are taken from, other blocks' lines included; in the order of the call.
  std::span<const double> first_operand, second_operand;
  Lines left, right;  // of the operands of the call

  int64_t at(int64_t i, int64_t j) const { return i * columns + j / columns * column_stride + j % columns; }
  double bias(int64_t i, int64_t j) const {
    return row_bias != nullptr ? row_bias[i] : column_bias != nullptr ? column_bias[j] : 0.0;
  }
};

// How many products each output of an inner product (graph::OpDef) is the sum of: k. REQUIRES static inputs and
// outputs.
int64_t terms_of(const graph::Graph& graph, const graph::Node& node);

// kUnreadable where a product of the graph has more terms than the arithmetic's bounds cover; says which one.
// REQUIRES a static graph.
Status check_terms(const graph::Graph& graph, const platform::Arithmetic& arithmetic);

// The matrices of a call that has run; none if it has no outputs. REQUIRES an inner product, float64 operands.
std::vector<ProductBlock> product_blocks(KernelCall& call);

}  // namespace isobit::runtime
