#include "isobit/graph/passes/retype.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/graph/passes/rebuild.h"

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
