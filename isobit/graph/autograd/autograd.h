// Reverse-mode differentiation: the backward pass as more nodes of the same graph.
//
// The gradient of a value with several uses is the sum of the uses' gradients, added one after another from the last
// use to the first (so the order belongs to the graph, not to whoever runs it).
//
// Gradients flow through real values alone, and along what the definitions say that an output follows from
// (OutputDef::follows_from). The gradient of a float16 or bfloat16 value is float32: nothing is computed in these.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// What a gradient rule is given: the forward node, the gradients of its outputs (kNoValue: none flows), and which of
// its inputs want one. It emits nodes into `graph` and returns one gradient per input (kNoValue: it is 0 everywhere, or
// was not wanted).
struct GradContext {
  Graph& graph;
  const Node node;  // a copy: emitting nodes may move the original
  std::vector<ValueId> diff_outputs;
  std::vector<bool> wanted;
  // Set by a rule that has no gradient for this use of its operator: why. Nothing that it returns is looked at then.
  std::string refusal = {};
  // What `refusal` is left with: no gradient.
  std::vector<ValueId> refuse(std::string why) {
    refusal = std::move(why);
    return std::vector<ValueId>(node.inputs.size(), kNoValue);
  }

  ValueId input(int i) const;   // kNoValue when absent
  ValueId output(int i) const;  // kNoValue when absent
  ValueId diff() const { return diff_outputs[0]; }
  bool wants(int i) const { return i < static_cast<int>(wanted.size()) && wanted[static_cast<size_t>(i)]; }
  bool flows(int output) const { return diff_outputs[static_cast<size_t>(output)] != kNoValue; }
  const std::vector<int64_t>& dims(ValueId id) const { return graph.value(id).dims; }
  std::string diff_name(int i) const;  // "grad/" + name of input i
};

using GradRule = std::function<std::vector<ValueId>(GradContext&)>;

// Null when the operator has no gradient.
const GradRule* find_gradient(const std::string& op);
// Why an operator has no gradient; "" for one that has. Every operator has the one or the other.
std::string why_no_gradient(const std::string& op);

// The type of the gradient of a value of this type; nothing flows through a value of any other.
std::optional<DType> gradient_type(DType dtype);

// Appends the gradients of scalar `loss` with respect to each of `targets`; returns their ids, kNoValue where the loss
// does not depend on the target, or is the same nearly everywhere. An error (kUnreadable) names an operator on the way
// that has no gradient, or none in the way in which it is used, or a value on the way whose shape is not known.
Expected<std::vector<ValueId>> append_gradients(Graph& graph, ValueId loss, std::span<const ValueId> targets);

// A value, and the gradient with respect to it that there is already: of its shape, and of the type of its gradient.
struct Seed {
  ValueId value = kNoValue, diff = kNoValue;
};
// The same of sum(value * diff) over the seeds, from the last node back to node number `first`: nodes before it are not
// looked at, and targets are not made by those behind it. The errors and what is returned are those of
// append_gradients.
Expected<std::vector<ValueId>> append_gradients(Graph& graph, std::span<const Seed> seeds,
                                                std::span<const ValueId> targets, size_t first = 0);

}  // namespace isobit::graph
