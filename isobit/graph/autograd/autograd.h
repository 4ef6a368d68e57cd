// Reverse-mode differentiation: the backward pass as more nodes of the same graph.
//
// The gradient of a value with several uses is the sum of the uses' gradients, added one after another from the last
// use to the first (so the order belongs to the graph, not to whoever runs it).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// What a gradient rule is given: the forward node, the gradients of its outputs (kNoValue: none flows), and which of
// its inputs want one. It emits nodes into `graph` and returns one gradient per input (kNoValue: none).
struct GradContext {
  Graph& graph;
  const Node node;  // a copy: emitting nodes may move the original
  std::vector<ValueId> diff_outputs;
  std::vector<bool> wanted;
  // Set by a rule that has no gradient for this use of its operator: why. Nothing that it returns is looked at then.
  std::string refusal = {};

  ValueId input(int i) const;   // kNoValue when absent
  ValueId output(int i) const;  // kNoValue when absent
  ValueId diff() const { return diff_outputs[0]; }
  bool wants(int i) const { return i < static_cast<int>(wanted.size()) && wanted[static_cast<size_t>(i)]; }
  const std::vector<int64_t>& dims(ValueId id) const { return graph.value(id).dims; }
  std::string diff_name(int i) const;  // "grad/" + name of input i
};

using GradRule = std::function<std::vector<ValueId>(GradContext&)>;

// Null when the operator has no gradient (integer, or a gradient itself).
const GradRule* find_gradient(const std::string& op);
std::vector<std::string> operators_with_gradients();  // sorted

// Appends the gradients of scalar `loss` with respect to each of `targets`; returns their ids, kNoValue where the loss
// does not depend on the target. An error (kUnreadable) names an operator on the way that has no gradient, or none in
// the way in which it is used. REQUIRES static shapes.
Expected<std::vector<ValueId>> append_gradients(Graph& graph, ValueId loss, std::span<const ValueId> targets);

}  // namespace isobit::graph
