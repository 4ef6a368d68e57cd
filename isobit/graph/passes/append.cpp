#include "isobit/graph/passes/append.h"

namespace isobit::graph {

Status append_node(Graph& graph, const Graph& part, const Node& node, Attributes attributes, const std::string& prefix,
                   std::vector<ValueId>& values) {
  std::vector<ValueId> inputs;
  for (const ValueId id : node.inputs) {
    inputs.push_back(id == kNoValue ? kNoValue : values[static_cast<size_t>(id)]);
    ISOBIT_CHECK(id == kNoValue || inputs.back() != kNoValue);
  }
  std::vector<std::string> names;
  for (const ValueId id : node.outputs) names.push_back(id == kNoValue ? "" : prefix + part.value(id).name);
  ISOBIT_TRY(const std::vector<ValueId> made,
             graph.add_node(node.op, std::move(inputs), std::move(attributes), std::move(names),
                            node.name.empty() ? "" : prefix + node.name));
  for (size_t o = 0; o < made.size(); ++o) {
    if (node.outputs[o] != kNoValue) values[static_cast<size_t>(node.outputs[o])] = made[o];
  }
  return {};
}

Status append(Graph& graph, const Graph& part, const std::string& prefix, std::vector<ValueId>& values,
              const std::function<Attributes(const Node&)>& attributes) {
  ISOBIT_CHECK(values.size() == static_cast<size_t>(part.value_count()));
  for (const Node& node : part.nodes()) {
    ISOBIT_RETURN_IF_ERROR(
        append_node(graph, part, node, attributes ? attributes(node) : node.attributes, prefix, values));
  }
  return {};
}

Expected<std::vector<ValueId>> append_body(Graph& graph, const Graph& body, std::span<const ValueId> operands,
                                           const std::string& prefix) {
  ISOBIT_CHECK(&graph != &body && operands.size() == body.inputs().size());
  std::vector<ValueId> values(static_cast<size_t>(body.value_count()), kNoValue);
  for (size_t i = 0; i < operands.size(); ++i) values[static_cast<size_t>(body.inputs()[i])] = operands[i];
  for (const Initializer& constant : body.initializers()) {
    const std::string name = prefix + body.value(constant.value).name;
    values[static_cast<size_t>(constant.value)] = graph.add_initializer(name, constant.tensor);
  }
  ISOBIT_RETURN_IF_ERROR(append(graph, body, prefix, values));
  std::vector<ValueId> outputs;
  for (const ValueId id : body.outputs()) {
    outputs.push_back(id == kNoValue ? kNoValue : values[static_cast<size_t>(id)]);
  }
  return outputs;
}

}  // namespace isobit::graph
