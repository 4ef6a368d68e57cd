#include "isobit/runtime/specialise.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/passes/rebuild.h"
#include "isobit/runtime/fold.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;

bool may_have(const Value& value, const Shape& shape) {
  if (!value.has_rank()) return true;
  return std::ranges::equal(value.dims, shape.dims(), [](int64_t a, int64_t b) { return a < 0 || a == b; });
}

bool is_static(const Graph& graph) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    if (!graph.value(id).is_static()) return false;
  }
  return std::ranges::all_of(graph.nodes(), [](const Node& node) { return node.awaits.empty(); });
}

Status check_shape(const Value& input, const Shape& found) {
  if (may_have(input, found)) return {};
  return unreadable(
      text_of("input '", input.name, "': found shape ", found.text(), ", expected ", Shape(input.dims).text()));
}

Expected<Graph> specialise(const Graph& graph, std::span<const GivenInput> inputs, const KernelTable& table) {
  ISOBIT_CHECK(inputs.size() == graph.inputs().size());
  Folding folding({}, table);
  graph::Rebuilding rule;
  rule.input = [&](size_t i) -> Expected<graph::InferContext::Type> {
    return graph::InferContext::Type{inputs[i].dtype, inputs[i].shape.dims()};
  };
  rule.known_input = [&](size_t i) { return inputs[i].constant; };
  rule.computed = [&](const Graph& made, const Node& node) { return folding.outputs_of(made, node); };
  return graph::rebuild(graph, rule);
}

Expected<Graph> specialise(const Graph& graph, std::span<const Shape> inputs, const KernelTable& table) {
  ISOBIT_CHECK(inputs.size() == graph.inputs().size());
  std::vector<GivenInput> given;
  for (const Shape& shape : inputs) {
    const Value& value = graph.value(graph.inputs()[given.size()]);
    ISOBIT_RETURN_IF_ERROR(check_shape(value, shape));
    given.push_back({value.dtype, shape});
  }
  return specialise(graph, given, table);
}

}  // namespace isobit::runtime
