#include "isobit/graph/passes/append_copy.h"

namespace isobit::graph {

Expected<std::vector<ValueId>> append_copy(Graph& graph, const Graph& body, std::span<const ValueId> operands,
                                           const std::string& prefix) {
  ISOBIT_CHECK(&graph != &body && operands.size() == body.inputs().size());
  std::vector<ValueId> became(static_cast<size_t>(body.value_count()), kNoValue);
  const auto of = [&](ValueId id) { return id == kNoValue ? kNoValue : became[static_cast<size_t>(id)]; };
  for (size_t i = 0; i < operands.size(); ++i) became[static_cast<size_t>(body.inputs()[i])] = operands[i];
  for (const Initializer& constant : body.initializers()) {
    const std::string name = prefix + body.value(constant.value).name;
    became[static_cast<size_t>(constant.value)] = graph.add_initializer(name, constant.tensor);
  }
  for (const Node& node : body.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(of(id));
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) names.push_back(id == kNoValue ? "" : prefix + body.value(id).name);
    ISOBIT_TRY(const auto outputs, graph.add_node(node.op, std::move(inputs), node.attributes, std::move(names),
                                                  node.name.empty() ? "" : prefix + node.name));
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (node.outputs[o] != kNoValue) became[static_cast<size_t>(node.outputs[o])] = outputs[o];
    }
  }
  std::vector<ValueId> outputs;
  for (const ValueId id : body.outputs()) outputs.push_back(of(id));
  return outputs;
}

}  // namespace isobit::graph
