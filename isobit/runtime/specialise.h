// Shapes that are known only when a run is asked for.
#pragma once

#include <span>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"

namespace isobit::runtime {

// Whether every value has known dimensions, those that nothing reads as well.
bool is_static(const graph::Graph& graph);

// The same graph, its values and nodes under the same numbers and names, for inputs of these shapes (in the order of
// graph.inputs()): every operator's shapes are inferred again. kUnreadable: an input of another rank or of another
// known dimension, an operator whose shapes do not fit these, or one whose output's shape follows from data alone,
// naming the value.
Expected<graph::Graph> specialise(const graph::Graph& graph, std::span<const Shape> inputs);

}  // namespace isobit::runtime
