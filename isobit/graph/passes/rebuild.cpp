#include "isobit/graph/passes/rebuild.h"

#include "isobit/base/text.h"

namespace isobit::graph {
namespace {

Expected<Attributes> attributes_again(const Node& node, const Rebuilding& rule) {
  Attributes attributes = rule.attributes ? rule.attributes(node) : node.attributes;
  if (!rule.subgraph) return attributes;
  for (const auto& [name, attribute] : node.attributes.items()) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&attribute);
    if (graph == nullptr) continue;
    auto made = rule.subgraph(**graph);
    if (!made) return unreadable(text_of("node '", node.name, "' (", node.op, "): ", name, ": ", made.error().message));
    attributes.set(name, std::make_shared<const Graph>(*std::move(made)));
  }
  return attributes;
}

Status add_again(const Graph& graph, const Node& node, const Rebuilding& rule, Graph& made) {
  std::vector<Tensor> computed;
  if (rule.computed) {
    ISOBIT_TRY(computed, rule.computed(made, node));
  }
  ISOBIT_CHECK(computed.empty() || computed.size() == node.outputs.size());
  std::vector<std::string> names;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const ValueId id = node.outputs[o];
    names.push_back(id == kNoValue ? "" : graph.value(id).name);
    if (!computed.empty() && id != kNoValue) {
      ISOBIT_CHECK(made.add_initializer(names.back(), std::move(computed[o])) == id);
    }
  }
  if (!computed.empty()) return {};
  ISOBIT_TRY(Attributes attributes, attributes_again(node, rule));
  ISOBIT_TRY(const auto outputs,
             made.add_node(node.op, node.inputs, std::move(attributes), std::move(names), node.name));
  ISOBIT_CHECK(outputs == node.outputs);
  return {};
}

}  // namespace

Status visit_in_order(const Graph& graph, const InOrder& visit) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> input(static_cast<size_t>(graph.value_count()), kNone);  // its place among the graph's inputs
  for (size_t i = 0; i < graph.inputs().size(); ++i) input[static_cast<size_t>(graph.inputs()[i])] = i;
  std::vector<const Tensor*> constant(input.size(), nullptr);
  for (const Initializer& i : graph.initializers()) constant[static_cast<size_t>(i.value)] = &i.tensor;
  auto node = graph.nodes().begin();
  for (ValueId id = 0; id < graph.value_count();) {
    const auto place = static_cast<size_t>(id);
    if (constant[place] != nullptr) {
      ISOBIT_RETURN_IF_ERROR(visit.constant(id++, *constant[place]));
    } else if (input[place] != kNone) {
      ISOBIT_RETURN_IF_ERROR(visit.input(id++, input[place]));
    } else {
      ISOBIT_CHECK(node != graph.nodes().end());
      ISOBIT_RETURN_IF_ERROR(visit.node(*node));
      for (const ValueId o : node->outputs) id += o == kNoValue ? 0 : 1;
      ++node;
    }
  }
  return {};
}

Expected<Graph> rebuild(const Graph& graph, const Rebuilding& rule) {
  Graph made;
  InOrder again;
  again.constant = [&](ValueId id, const Tensor& constant) -> Status {
    made.add_initializer(graph.value(id).name, rule.constant ? rule.constant(constant) : constant);
    return {};
  };
  again.input = [&](ValueId id, size_t place) -> Status {
    const std::string& name = graph.value(id).name;
    const Tensor* known = rule.known_input ? rule.known_input(place) : nullptr;
    if (known != nullptr) {
      made.add_initializer(name, *known);
      return {};
    }
    ISOBIT_TRY(InferContext::Type type, rule.input(place));
    made.add_input(name, type.dtype, std::move(type.dims));
    return {};
  };
  again.node = [&](const Node& node) { return add_again(graph, node, rule, made); };
  ISOBIT_RETURN_IF_ERROR(visit_in_order(graph, again));
  for (const ValueId o : graph.outputs()) made.add_output(o);
  return made;
}

}  // namespace isobit::graph
