// What one element of an output is made of: for somebody who judges single elements and runs no graph. Elements are
// numbered row-major. The work is that of the element, not of the tensors: at most a look at the operands that say
// where.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// Element number `element` of input number `input`.
struct ElementSource {
  int input = 0;
  int64_t element = 0;
  bool operator==(const ElementSource&) const = default;
};

// An element of an output of a node whose shapes are known.
struct ElementQuery {
  const Node& node;
  std::vector<std::vector<int64_t>> inputs = {};   // dimensions, by input; nothing of an absent one
  std::vector<std::vector<int64_t>> outputs = {};  // by output
  // The tensor behind input i: asked of what are no real numbers, indices and conditions. Null: the input is absent.
  std::function<const Tensor*(int)> operand = {};
  size_t output = 0;
  int64_t element = 0;

  const std::vector<int64_t>& dims() const { return outputs[output]; }
  bool has(int input) const {
    return input < static_cast<int>(node.inputs.size()) && node.inputs[static_cast<size_t>(input)] != kNoValue;
  }
};

// The elements that the one which is asked for is made of, as its rule says (ElementRule): the one that it is, or none
// where it is zero (kMoved); at most one of each input (kPointwise); all of which it is the sum, the product or an
// extreme; of an inner product the pairs whose products are added, pair by pair, and what is added to them. REQUIRES a
// node that shape inference accepts, and indices inside their axes.
using SourceRule = std::function<std::vector<ElementSource>(const ElementQuery&)>;

}  // namespace isobit::graph
