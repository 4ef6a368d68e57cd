// Which nodes of a graph some of its outputs need.
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

// Names that the nodes of a graph within a node use: those of its own values, too, which does no harm.
void add_names_of(const GraphDef& graph, std::unordered_set<std::string>& names) {
  for (const ValueDef& output : graph.outputs) names.insert(output.name);
  for (const NodeDef& node : graph.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const AttributeDef& a : node.attributes) {
      if (const auto* inner = std::get_if<std::shared_ptr<const GraphDef>>(&a.value)) add_names_of(**inner, names);
    }
  }
}

}  // namespace

// From the last node to the first: what a node uses stands before it, or the import says that it does not.
Needed needed_for(const GraphDef& graph, const std::vector<std::string>& outputs) {
  Needed needed{std::vector<bool>(graph.nodes.size(), false), {outputs.begin(), outputs.end()}};
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const NodeDef& node = graph.nodes[i];
    for (const std::string& output : node.outputs) {
      if (!output.empty() && needed.names.contains(output)) needed.nodes[i] = true;
    }
    if (!needed.nodes[i]) continue;
    needed.names.insert(node.inputs.begin(), node.inputs.end());
    for (const AttributeDef& a : node.attributes) {
      if (const auto* inner = std::get_if<std::shared_ptr<const GraphDef>>(&a.value))
        add_names_of(**inner, needed.names);
    }
  }
  return needed;
}

std::vector<ValueDef> needed_inputs(const Model& model, const std::vector<std::string>& outputs) {
  std::unordered_set<std::string> given;
  for (const TensorDef& t : model.graph.initializers) given.insert(t.name);
  std::optional<Needed> needed;
  if (!outputs.empty()) needed = needed_for(model.graph, outputs);
  std::vector<ValueDef> open;
  for (const ValueDef& input : model.graph.inputs) {
    if (!given.contains(input.name) && (!needed || needed->names.contains(input.name))) open.push_back(input);
  }
  return open;
}

}  // namespace isobit::onnx
