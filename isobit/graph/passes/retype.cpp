#include "isobit/graph/passes/retype.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"

namespace isobit::graph {
namespace {

bool is_real(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

template <class From, class To>
Tensor converted(const Tensor& tensor, DType to) {
  Tensor out(to, tensor.shape());
  std::transform(tensor.span<From>().begin(), tensor.span<From>().end(), out.span<To>().begin(),
                 [](From x) { return static_cast<To>(x); });
  return out;
}

class Retyping {
 public:
  explicit Retyping(const RetypePolicy& policy) : policy_(policy) {
    ISOBIT_CHECK(is_real(policy.from) && is_real(policy.to) && policy.from != policy.to);
  }
  DType type(DType dtype) const { return dtype == policy_.from ? policy_.to : dtype; }
  Tensor constant(const Tensor& tensor) const {
    if (tensor.dtype() != policy_.from) return tensor;
    return policy_.to == DType::kFloat64 ? converted<float, double>(tensor, policy_.to)
                                         : converted<double, float>(tensor, policy_.to);
  }

 private:
  RetypePolicy policy_;
};

}  // namespace

Expected<Graph> retype(const Graph& graph, const RetypePolicy& policy) {
  const Retyping retyping(policy);
  std::map<ValueId, const Initializer*> constants;
  for (const Initializer& i : graph.initializers()) constants[i.value] = &i;
  Graph retyped;
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
      if (!op_of(node).any_real_type) {
        return unreadable(text_of("node '", node.name, "' (", node.op, "): has no ", name_of(policy.to), " form"));
      }
      std::vector<std::string> names;
      for (ValueId o : node.outputs) names.push_back(o == kNoValue ? "" : graph.value(o).name);
      ISOBIT_TRY(const auto outputs, retyped.add_node(node.op, node.inputs, node.attributes, names, node.name));
      ISOBIT_CHECK(outputs == node.outputs);
      ++next_node;
    }
    return {};
  };
  while (retyped.value_count() < graph.value_count()) {
    const auto id = static_cast<ValueId>(retyped.value_count());
    const Value& value = graph.value(id);
    if (constants.contains(id)) {
      retyped.add_initializer(value.name, retyping.constant(constants[id]->tensor));
      continue;
    }
    const int64_t before = retyped.value_count();
    ISOBIT_RETURN_IF_ERROR(add_nodes_before(id));
    if (retyped.value_count() == before) retyped.add_input(value.name, retyping.type(value.dtype), value.dims);
  }
  ISOBIT_RETURN_IF_ERROR(add_nodes_before(static_cast<ValueId>(graph.value_count())));
  for (ValueId o : graph.outputs()) retyped.add_output(o);
  return retyped;
}

}  // namespace isobit::graph
