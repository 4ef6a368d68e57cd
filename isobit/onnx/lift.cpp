// Weights that lie in graphs within nodes (branches, bodies of loops), put where a training finds them.
#include <unordered_map>

#include "isobit/onnx/model.h"

namespace isobit::onnx {
namespace {

using Defined = std::unordered_map<std::string, int>;  // how often the file makes a value of a name

void count_names(const GraphDef& graph, Defined& defined) {
  for (const ValueDef& input : graph.inputs) ++defined[input.name];
  for (const TensorDef& t : graph.initializers) ++defined[t.name];
  for (const std::string& name : graph.sparse_initializers) ++defined[name];
  for (const NodeDef& node : graph.nodes) {
    for (const std::string& output : node.outputs) ++defined[output];
    for (const AttributeDef& a : node.attributes) {
      if (const auto* inner = std::get_if<std::shared_ptr<const GraphDef>>(&a.value)) count_names(**inner, defined);
    }
  }
}

// Takes the weights out of every graph within these nodes. What others may hold, too, is copied, but for tensors.
void take_from(std::vector<NodeDef>& nodes, const Defined& defined, std::vector<TensorDef>& weights) {
  for (NodeDef& node : nodes) {
    for (AttributeDef& a : node.attributes) {
      auto* inner = std::get_if<std::shared_ptr<const GraphDef>>(&a.value);
      if (inner == nullptr) continue;
      auto left = std::make_shared<GraphDef>(**inner);
      std::erase_if(left->initializers, [&](const TensorDef& t) {
        const bool taken = is_weight(t) && defined.at(t.name) == 1;
        if (taken) weights.push_back(t);
        return taken;
      });
      take_from(left->nodes, defined, weights);
      *inner = std::move(left);
    }
  }
}

}  // namespace

void lift_weights(Model& model) {
  Defined defined;
  count_names(model.graph, defined);
  take_from(model.graph.nodes, defined, model.graph.initializers);
}

}  // namespace isobit::onnx
