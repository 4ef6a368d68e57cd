#include "isobit/graph/passes/prune.h"

#include <algorithm>

#include "isobit/graph/passes/append.h"

namespace isobit::graph {
namespace {

size_t place(ValueId id) { return static_cast<size_t>(id); }

bool makes_one_of(const Node& node, const std::vector<bool>& values) {
  return std::ranges::any_of(node.outputs, [&](ValueId o) { return o != kNoValue && values[place(o)]; });
}

}  // namespace

std::vector<bool> needed_values(const Graph& graph, const std::vector<ValueId>& outputs) {
  std::vector<bool> needed(place(static_cast<ValueId>(graph.value_count())), false);
  for (const ValueId o : outputs) needed[place(o)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (!makes_one_of(*node, needed)) continue;
    for (const ValueId i : node->inputs) {
      if (i != kNoValue) needed[place(i)] = true;
    }
  }
  return needed;
}

Expected<Graph> pruned(const Graph& graph, const std::vector<ValueId>& outputs) {
  const std::vector<bool> needed = needed_values(graph, outputs);
  Graph made;
  std::vector<ValueId> now(needed.size(), kNoValue);
  // Inputs and constants keep their order among themselves and before the nodes that read them: what a node reads was
  // there before it.
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    if (needed[place(id)]) now[place(id)] = made.add_input(value.name, value.dtype, value.dims);
  }
  for (const Initializer& constant : graph.initializers()) {
    if (!needed[place(constant.value)]) continue;
    now[place(constant.value)] = made.add_initializer(graph.value(constant.value).name, constant.tensor);
  }
  for (const Node& node : graph.nodes()) {
    if (makes_one_of(node, needed)) ISOBIT_RETURN_IF_ERROR(append_node(made, graph, node, node.attributes, "", now));
  }
  for (const ValueId o : outputs) made.add_output(now[place(o)]);
  return made;
}

}  // namespace isobit::graph
