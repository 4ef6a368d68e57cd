#include "isobit/lab/explain/cut.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::explain {
namespace {

using onnx::GraphDef;
using onnx::NodeDef;
using onnx::ValueDef;

bool runs_graphs(const NodeDef& node) {
  return std::ranges::any_of(node.attributes, [](const onnx::AttributeDef& a) {
    return std::holds_alternative<std::shared_ptr<const GraphDef>>(a.value);
  });
}

class Cutter {
 public:
  Cutter(const onnx::Model& model, const std::map<std::string, onnx::TypeDef>& from, size_t most)
      : model_(model), from_(from), most_(most) {
    const GraphDef& graph = model.graph;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const std::string& output : graph.nodes[n].outputs) {
        if (!output.empty()) makers_.emplace(output, n);
      }
    }
    for (const ValueDef& input : graph.inputs) inputs_.emplace(input.name, &input);
    for (const onnx::TensorDef& tensor : graph.initializers) weights_.emplace(tensor.name, &tensor);
  }

  Expected<Part> cut(const std::vector<std::string>& targets) {
    for (const std::string& target : targets) {
      const auto maker = makers_.find(target);
      if (maker == makers_.end()) return missing(target);
      ISOBIT_RETURN_IF_ERROR(take(maker->second));
    }
    while (!open_.empty()) {
      const std::string name = open_.back();
      open_.pop_back();
      if (seen_.insert(name).second) ISOBIT_RETURN_IF_ERROR(provide(name));
    }
    return part(targets);
  }

 private:
  tl::unexpected<Error> missing(const std::string& name) const {
    return unreadable(text_of(model_.file, ": no node makes '", name, "'"));
  }

  Status take(size_t node) {
    if (!nodes_.insert(node).second) return {};
    const NodeDef& def = model_.graph.nodes[node];
    if (nodes_.size() > most_) {
      return unreadable(text_of(model_.file, ": more than ", most_, " nodes lie between values that were recorded"));
    }
    if (runs_graphs(def)) return unreadable(text_of(model_.file, ": '", def.label(), "' runs graphs of its own"));
    for (const std::string& input : def.inputs) {
      if (!input.empty()) open_.push_back(input);
    }
    return {};
  }

  Status provide(const std::string& name) {
    // Initializers first: a file may list them as inputs, too, whose values they then are.
    if (const auto weight = weights_.find(name); weight != weights_.end()) {
      part_.model.graph.initializers.push_back(*weight->second);
      return {};
    }
    if (const auto value = from_.find(name); value != from_.end()) {
      part_.model.graph.inputs.push_back({name, value->second});
      part_.values.push_back(name);
      return {};
    }
    if (const auto input = inputs_.find(name); input != inputs_.end()) {
      part_.model.graph.inputs.push_back(*input->second);
      part_.given.push_back(name);
      return {};
    }
    const auto maker = makers_.find(name);
    if (maker == makers_.end()) return missing(name);
    return take(maker->second);
  }

  Part part(const std::vector<std::string>& targets) {
    onnx::Model& made = part_.model;
    made.file = model_.file;
    made.ir_version = model_.ir_version;
    made.producer = model_.producer;
    made.opsets = model_.opsets;
    made.functions = model_.functions;
    made.graph.name = "part";
    std::set<std::string> outputs;
    for (const size_t n : nodes_) {
      made.graph.nodes.push_back(model_.graph.nodes[n]);
      part_.nodes.push_back(model_.graph.nodes[n].label());
    }
    for (const std::string& target : targets) {
      if (outputs.insert(target).second) made.graph.outputs.push_back({target, {}});
    }
    made.bytes = model_.bytes;
    return std::move(part_);
  }

  const onnx::Model& model_;
  const std::map<std::string, onnx::TypeDef>& from_;
  const size_t most_;
  std::map<std::string, size_t> makers_;
  std::map<std::string, const ValueDef*> inputs_;
  std::map<std::string, const onnx::TensorDef*> weights_;
  std::set<size_t> nodes_;  // in the order of the file
  std::set<std::string> seen_;
  std::vector<std::string> open_;
  Part part_;
};

}  // namespace

Expected<Part> cut(const onnx::Model& model, const std::vector<std::string>& targets,
                   const std::map<std::string, onnx::TypeDef>& from, size_t most) {
  return Cutter(model, from, most).cut(targets);
}

}  // namespace isobit::lab::explain
