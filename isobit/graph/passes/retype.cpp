#include "isobit/graph/passes/retype.h"

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/graph/passes/rebuild.h"
#include "isobit/tensor/convert.h"

namespace isobit::graph {
namespace {

class Retyping {
 public:
  explicit Retyping(const RetypePolicy& policy) : policy_(policy) {
    ISOBIT_CHECK(FloatTypes::contains(policy.from) && FloatTypes::contains(policy.to) && policy.from != policy.to);
  }
  DType type(DType dtype) const { return dtype == policy_.from ? policy_.to : dtype; }
  Tensor constant(const Tensor& tensor) const {
    return tensor.dtype() == policy_.from ? converted(tensor, policy_.to) : tensor;
  }

 private:
  RetypePolicy policy_;
};

}  // namespace

Expected<Graph> retype(const Graph& graph, const RetypePolicy& policy) {
  const Retyping retyping(policy);
  for (const Node& node : graph.nodes()) {
    if (op_of(node).any_real_type || op_of(node).retyped) continue;
    return unreadable(text_of("node '", node.name, "' (", node.op, "): has no ", name_of(policy.to), " form"));
  }
  Rebuilding rule;
  rule.input = [&](size_t i) -> Expected<InferContext::Type> {
    const Value& value = graph.value(graph.inputs()[i]);
    return InferContext::Type{retyping.type(value.dtype), value.dims};
  };
  rule.attributes = [&](const Node& node) {
    const RetypeRule& retyped = op_of(node).retyped;
    return retyped ? retyped(node.attributes, policy.from, policy.to) : node.attributes;
  };
  rule.constant = [&](const Tensor& tensor) { return retyping.constant(tensor); };
  rule.subgraph = [&](const Graph& inner) { return retype(inner, policy); };
  return rebuild(graph, rule);
}

}  // namespace isobit::graph
