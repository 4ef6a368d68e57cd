#include "isobit/runtime/specialise.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::runtime {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
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

// Builds the graph anew, value by value, so that each has its number again.
class Rebuilding {
 public:
  Rebuilding(const Graph& graph, std::span<const Shape> shapes) : graph_(graph), shapes_(shapes) {}

  Expected<Graph> run() {
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_count());
         id = static_cast<ValueId>(made_.value_count())) {
      if (input_ < graph_.inputs().size() && graph_.inputs()[input_] == id) {
        ISOBIT_RETURN_IF_ERROR(add_input(graph_.value(id)));
      } else if (const Tensor* constant = graph_.initializer(id)) {
        made_.add_initializer(graph_.value(id).name, *constant);
      } else {
        ISOBIT_RETURN_IF_ERROR(add_node());
      }
    }
    while (node_ < graph_.nodes().size()) ISOBIT_RETURN_IF_ERROR(add_node());  // those without outputs
    for (const ValueId o : graph_.outputs()) made_.add_output(o);
    return std::move(made_);
  }

 private:
  Status add_input(const Value& value) {
    const Shape& shape = shapes_[input_++];
    if (!fits(value.dims, shape)) {
      return unreadable(
          text_of("input '", value.name, "': found shape ", shape.text(), ", expected ", Shape(value.dims).text()));
    }
    made_.add_input(value.name, value.dtype, shape.dims());
    return {};
  }

  Status add_node() {
    const Node& node = graph_.nodes()[node_++];
    std::vector<std::string> names;
    for (const ValueId o : node.outputs) names.push_back(o == kNoValue ? "" : graph_.value(o).name);
    ISOBIT_TRY(const std::vector<ValueId> outputs,
               made_.add_node(node.op, node.inputs, node.attributes, std::move(names), node.name));
    ISOBIT_CHECK(outputs == node.outputs);
    return {};
  }

  const Graph& graph_;
  std::span<const Shape> shapes_;
  Graph made_;
  size_t input_ = 0, node_ = 0;
};

}  // namespace

bool is_static(const Graph& graph) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    if (!graph.value(id).is_static()) return false;
  }
  return true;
}

Expected<Graph> specialise(const Graph& graph, std::span<const Shape> inputs) {
  ISOBIT_CHECK(inputs.size() == graph.inputs().size());
  return Rebuilding(graph, inputs).run();
}

}  // namespace isobit::runtime
