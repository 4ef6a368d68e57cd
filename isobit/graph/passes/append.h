// One graph put into another, as often as one likes: each time is a copy of its nodes on other operands.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// Appends the nodes of `part` to `graph`, in their order, with `prefix` before the names of what they make.
// `values`: by value of `part`, the one of `graph` that it is; what nodes make is filled in. REQUIRES one for every
// input and constant of `part` that a node reads, of the same type. `attributes`: those that a node has here; null: its
// own. Errors: as Graph::add_node, where operands or attributes make another node of it.
Status append(Graph& graph, const Graph& part, const std::string& prefix, std::vector<ValueId>& values,
              const std::function<Attributes(const Node&)>& attributes = nullptr);

// The same of one node of `part`, with these attributes.
Status append_node(Graph& graph, const Graph& part, const Node& node, Attributes attributes, const std::string& prefix,
                   std::vector<ValueId>& values);

// Appends the constants and the nodes of `body`, `operands` being the values of its inputs; names begin with `prefix`.
// Types follow from the operands, and an operand that is a constant is one within. Returns what the outputs of `body`
// became. Errors: as append; some nodes have been appended then. REQUIRES as many operands as `body` has inputs, and
// that it is another graph.
Expected<std::vector<ValueId>> append_body(Graph& graph, const Graph& body, std::span<const ValueId> operands,
                                           const std::string& prefix);

}  // namespace isobit::graph
