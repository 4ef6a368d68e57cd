// What a node of a graph has to do at least, from its types alone.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/graph/graph.h"

namespace isobit::lab::profile {

struct Work {
  // Of inner products: multiplications and additions, two for each pair of elements that meets. Products with padding
  // count, as every library counts them. 0 for other operators, whose time is that of their bytes.
  int64_t operations = 0;
  bool in_float64 = false;
  // Of operands and results, each once: what has to be moved if nothing of it is in a cache, and nothing twice.
  int64_t bytes = 0;
};

// following: nodes that are computed at once with it (runtime::NodeRun), each of which reads the one output of the node
// before it: what is between two of them is not moved.
// REQUIRES that the shapes of inputs and outputs are known (runtime::is_static); else no work is counted.
Work work_of(const graph::Graph& graph, const graph::Node& node, std::span<const graph::Node* const> following = {});

}  // namespace isobit::lab::profile
