#include "isobit/graph/passes/append.h"

namespace isobit::graph {

Status append(Graph& graph, const Graph& part, const std::string& prefix, std::vector<ValueId>& values,
              const std::function<Attributes(const Node&)>& attributes) {
  ISOBIT_CHECK(values.size() == static_cast<size_t>(part.value_count()));
  for (const Node& node : part.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) {
      inputs.push_back(id == kNoValue ? kNoValue : values[static_cast<size_t>(id)]);
      ISOBIT_CHECK(id == kNoValue || inputs.back() != kNoValue);
    }
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) names.push_back(id == kNoValue ? "" : prefix + part.value(id).name);
    ISOBIT_TRY(const std::vector<ValueId> made,
               graph.add_node(node.op, std::move(inputs), attributes ? attributes(node) : node.attributes,
                              std::move(names), prefix + node.name));
    for (size_t o = 0; o < made.size(); ++o) {
      if (node.outputs[o] != kNoValue) values[static_cast<size_t>(node.outputs[o])] = made[o];
    }
  }
  return {};
}

}  // namespace isobit::graph
