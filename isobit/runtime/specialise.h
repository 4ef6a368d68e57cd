// Shapes that are known only when a run is asked for.
#pragma once

#include <span>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/runtime/kernel_table.h"

namespace isobit::runtime {

// Whether every value has known dimensions, those that nothing reads as well, and no node waits for an operand.
bool is_static(const graph::Graph& graph);

// What an input of a graph is in a run.
struct GivenInput {
  DType dtype;
  Shape shape;
  const Tensor* constant = nullptr;  // in every run; null: fed anew
};

// The same graph, its values under the same numbers and names, for inputs that are these (in the order of
// graph.inputs()); constants are no inputs any more. Every operator's shapes are inferred again, and what follows from
// shapes and constants alone is computed and put in as constants (fold.h), so that a shape which is computed from other
// shapes is known. What follows from data stays open. kUnreadable: an operator whose shapes do not fit these, naming
// the node.
Expected<graph::Graph> specialise(const graph::Graph& graph, std::span<const GivenInput> inputs,
                                  const KernelTable& table = kernel_table());

// For inputs of the types that the graph declares, and of these shapes. kUnreadable also: check_shape.
Expected<graph::Graph> specialise(const graph::Graph& graph, std::span<const Shape> inputs,
                                  const KernelTable& table = kernel_table());

// Whether a value of this type may have that shape: its rank and every known dimension are the same.
bool may_have(const graph::Value& value, const Shape& shape);

// kUnreadable where the input may not have the shape.
Status check_shape(const graph::Value& input, const Shape& found);

}  // namespace isobit::runtime
