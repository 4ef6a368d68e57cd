// Einsum (ONNX opset 12) as transpositions, sums and products.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct EinsumArguments {
  std::string name;
  std::string equation = {};           // einsum_equation.h says how it is read
  std::vector<ValueId> operands = {};  // of one type, float32, float64 or integers
};

// The one output. The order of operations, which is the contract:
//
//   1. Of an operand with a letter twice, the diagonal.
//   2. An axis of extent 1 whose letter has another extent elsewhere is dropped.
//   3. Operands are taken from the left: the first two become one, until one is left. Of the two, a letter that only
//      one of them has, and neither the output nor an operand to come, is summed first (ReduceSum). Letters of both
//      that the output or an operand to come has are matrices side by side; the other letters of both are the inner
//      dimension of a MatMul; where there are none, or in integers, it is Mul (and ReduceSum).
//   4. What is left is summed over the letters that the output does not have, and its axes are put in order.
//
// Extents that are not known are taken to fit. Known before the run must be the extent of a letter that an operand has
// twice, and all but one of the letters that become one axis of a matrix.
Expected<std::vector<ValueId>> einsum(Graph& graph, const EinsumArguments& arguments);

}  // namespace isobit::graph::expansions
