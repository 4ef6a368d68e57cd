// The part of a graph that some of its values need.
#pragma once

#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// The nodes, inputs and constants that `outputs` follow from, in the order in which the graph has them; `outputs` are
// the outputs. Names and types stay, numbers of values do not (Graph::find). An operator that runs graphs needs all of
// its operands. Errors: those of Graph::add_node, which a graph that was built by it does not give.
Expected<Graph> pruned(const Graph& graph, const std::vector<ValueId>& outputs);

// By value: whether some of `outputs` follow from it.
std::vector<bool> needed_values(const Graph& graph, const std::vector<ValueId>& outputs);

}  // namespace isobit::graph
