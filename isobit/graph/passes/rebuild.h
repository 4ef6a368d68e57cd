// The frame of passes that change types, shapes or constants and leave every operator where it is, or put its outputs
// in as constants.
#pragma once

#include <functional>

#include "isobit/graph/op.h"

namespace isobit::graph {

// What is done with each constant, input (with its place among the graph's inputs) and node.
struct InOrder {
  std::function<Status(ValueId, const Tensor&)> constant;
  std::function<Status(ValueId, size_t)> input;
  std::function<Status(const Node&)> node;
};
// In the order in which they were added to the graph. Values are numbered as they are added, so adding them to another
// graph in that order gives the same numbers. Stops at an error, which it returns.
Status visit_in_order(const Graph& graph, const InOrder& visit);

// What becomes of a graph's ends; the types of everything between follow by shape inference. Null: nothing of the kind.
struct Rebuilding {
  std::function<Expected<InferContext::Type>(size_t)> input;  // by place among the graph's inputs
  std::function<Tensor(const Tensor&)> constant = nullptr;    // null: they stay
  // By place among the graph's inputs: what it always is, so that it becomes a constant; null: it stays an input.
  std::function<const Tensor*(size_t)> known_input = nullptr;
  // What becomes of a node's attributes; null: they stay.
  std::function<Attributes(const Node&)> attributes = nullptr;
  // What becomes of a graph that an attribute holds; null: it stays.
  std::function<Expected<Graph>(const Graph&)> subgraph = nullptr;
  // The outputs of a node that is not to be run any more, one tensor each, undefined for an absent one: they become
  // constants, and the node is left out. Empty: it stays. `made` is the new graph as far as this node.
  std::function<Expected<std::vector<Tensor>>(const Graph& made, const Node&)> computed = nullptr;
};

// The graph built anew, value by value, so that ids, names and order of values are those of `graph`, and those of
// nodes, too, but for the ones that are left out. Errors: what the functions say; kUnreadable for an operator that does
// not accept its operands any more.
Expected<Graph> rebuild(const Graph& graph, const Rebuilding& rule);

}  // namespace isobit::graph
