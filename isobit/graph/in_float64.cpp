#include "isobit/graph/in_float64.h"

#include <map>

#include "isobit/base/text.h"

namespace isobit::graph {
namespace {

DType widened(DType dtype) { return dtype == DType::kFloat32 ? DType::kFloat64 : dtype; }

Tensor widened(const Tensor& tensor) {
  if (tensor.dtype() != DType::kFloat32) return tensor;
  Tensor wide(DType::kFloat64, tensor.shape());
  const auto from = tensor.span<float>();
  const auto to = wide.span<double>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<double>(from[i]);
  return wide;
}

}  // namespace

Expected<Graph> in_float64(const Graph& graph) {
  std::map<ValueId, const Initializer*> constants;
  for (const Initializer& i : graph.initializers()) constants[i.value] = &i;
  Graph wide;
  size_t next_node = 0;
  // Values are numbered as they were added, so adding them again in that order gives the same numbers.
  auto add_nodes_before = [&](ValueId id) -> Status {
    while (next_node < graph.nodes().size()) {
      const Node& node = graph.nodes()[next_node];
      ValueId first = kNoValue;
      for (ValueId o : node.outputs) {
        if (o != kNoValue && first == kNoValue) first = o;
      }
      if (first != kNoValue && first > id) return {};
      if (node.op == "Cast") return unreadable(text_of("node '", node.name, "' (Cast): has no float64 form"));
      std::vector<std::string> names;
      for (ValueId o : node.outputs) names.push_back(o == kNoValue ? "" : graph.value(o).name);
      ISOBIT_TRY(const auto outputs, wide.add_node(node.op, node.inputs, node.attributes, names, node.name));
      ISOBIT_CHECK(outputs == node.outputs);
      ++next_node;
    }
    return {};
  };
  while (wide.value_count() < graph.value_count()) {
    const auto id = static_cast<ValueId>(wide.value_count());
    const Value& value = graph.value(id);
    if (constants.contains(id)) {
      wide.add_initializer(value.name, widened(constants[id]->tensor));
      continue;
    }
    const int64_t before = wide.value_count();
    ISOBIT_RETURN_IF_ERROR(add_nodes_before(id));
    if (wide.value_count() == before) wide.add_input(value.name, widened(value.dtype), value.dims);
  }
  ISOBIT_RETURN_IF_ERROR(add_nodes_before(static_cast<ValueId>(graph.value_count())));
  for (ValueId o : graph.outputs()) wide.add_output(o);
  return wide;
}

}  // namespace isobit::graph
