// The same graph computed in float64: the arithmetics that round afterwards, or not at all.
#pragma once

#include "isobit/graph/graph.h"

namespace isobit::graph {

// Every float32 value becomes a float64 one, constants by exact conversion; integers stay. Ids, names and order of
// values and nodes are those of `graph`. Errors (kUnreadable): an operator that has no float64 form.
Expected<Graph> in_float64(const Graph& graph);

}  // namespace isobit::graph
