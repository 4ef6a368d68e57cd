#include "isobit/runtime/specialise.h"

#include "isobit/base/text.h"
#include "isobit/graph/passes/rebuild.h"

namespace isobit::runtime {

using graph::Graph;
using graph::Value;
using graph::ValueId;

namespace {

bool fits(const std::vector<int64_t>& wanted, const Shape& found) {
  if (wanted.size() != found.dims().size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] >= 0 && wanted[i] != found.dims()[i]) return false;
  }
  return true;
}

}  // namespace

bool is_static(const Graph& graph) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    if (!graph.value(id).is_static()) return false;
  }
  return true;
}

Expected<Graph> specialise(const Graph& graph, std::span<const Shape> inputs) {
  ISOBIT_CHECK(inputs.size() == graph.inputs().size());
  graph::Rebuilding rule;
  rule.input = [&](size_t i) -> Expected<graph::InferContext::Type> {
    const Value& value = graph.value(graph.inputs()[i]);
    if (fits(value.dims, inputs[i])) return graph::InferContext::Type{value.dtype, inputs[i].dims()};
    return unreadable(
        text_of("input '", value.name, "': found shape ", inputs[i].text(), ", expected ", Shape(value.dims).text()));
  };
  return graph::rebuild(graph, rule);
}

}  // namespace isobit::runtime
