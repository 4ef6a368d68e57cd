// The nodes of one graph as nodes of another.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// Appends the constants and nodes of `body` to `graph`, `operands` being the values of its inputs; the names of what is
// appended begin with `prefix`. Types follow from the operands, and an operand that is a constant is one within.
// Returns what the outputs of `body` became. Errors (kUnreadable): an operator that does not take its operands; some
// nodes have been appended then. REQUIRES as many operands as `body` has inputs, and that it is another graph.
Expected<std::vector<ValueId>> append_copy(Graph& graph, const Graph& body, std::span<const ValueId> operands,
                                           const std::string& prefix);

}  // namespace isobit::graph
