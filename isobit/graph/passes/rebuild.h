// The frame of passes that change types, shapes or constants and leave every operator where it is.
#pragma once

#include <functional>

#include "isobit/graph/op.h"

namespace isobit::graph {

// What becomes of a graph's ends; the types of everything between follow by shape inference.
struct Rebuilding {
  std::function<Expected<InferContext::Type>(size_t)> input;  // by place among the graph's inputs
  std::function<Tensor(const Tensor&)> constant = nullptr;    // null: they stay
};

// The graph built anew, value by value, so that ids, names and order of values and nodes are those of `graph`. Errors:
// what `input` says; kUnreadable for an operator that does not accept its operands any more.
Expected<Graph> rebuild(const Graph& graph, const Rebuilding& rule);

}  // namespace isobit::graph
