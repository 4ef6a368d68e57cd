#include "isobit/graph/passes/rebuild.h"

#include "isobit/base/text.h"

namespace isobit::graph {
namespace {

// What makes each value.
struct Origins {
  std::vector<const Tensor*> constant;  // null: it is none
  std::vector<int64_t> input;           // its place among the graph's inputs, -1: it is none

  explicit Origins(const Graph& graph)
      : constant(static_cast<size_t>(graph.value_count()), nullptr), input(constant.size(), -1) {
    for (const Initializer& i : graph.initializers()) constant[static_cast<size_t>(i.value)] = &i.tensor;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      input[static_cast<size_t>(graph.inputs()[i])] = static_cast<int64_t>(i);
    }
  }
};

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

Expected<Graph> rebuild(const Graph& graph, const Rebuilding& rule) {
  const Origins origins(graph);
  Graph made;
  size_t next_node = 0;
  // Values are numbered as they were added, so adding them again in that order gives the same numbers.
  while (made.value_count() < graph.value_count()) {
    const auto id = static_cast<ValueId>(made.value_count());
    const std::string& name = graph.value(id).name;
    if (const Tensor* constant = origins.constant[static_cast<size_t>(id)]) {
      made.add_initializer(name, rule.constant ? rule.constant(*constant) : *constant);
    } else if (const int64_t input = origins.input[static_cast<size_t>(id)]; input >= 0) {
      const Tensor* known = rule.known_input ? rule.known_input(static_cast<size_t>(input)) : nullptr;
      if (known != nullptr) {
        made.add_initializer(name, *known);
        continue;
      }
      ISOBIT_TRY(InferContext::Type type, rule.input(static_cast<size_t>(input)));
      made.add_input(name, type.dtype, std::move(type.dims));
    } else {
      ISOBIT_CHECK(next_node < graph.nodes().size());
      ISOBIT_RETURN_IF_ERROR(add_again(graph, graph.nodes()[next_node++], rule, made));
    }
  }
  for (const ValueId o : graph.outputs()) made.add_output(o);
  return made;
}

}  // namespace isobit::graph
