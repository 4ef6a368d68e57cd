#include "isobit/graph/autograd/autograd.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph {

ValueId GradContext::input(int i) const {
  return i < static_cast<int>(node.inputs.size()) ? node.inputs[static_cast<size_t>(i)] : kNoValue;
}
ValueId GradContext::output(int i) const {
  return i < static_cast<int>(node.outputs.size()) ? node.outputs[static_cast<size_t>(i)] : kNoValue;
}
std::string GradContext::diff_name(int i) const { return text_of("grad/", graph.value(input(i)).name); }

namespace autograd {

ValueId sum_to_shape_of(Graph& graph, ValueId diff, ValueId like, const std::string& name) {
  if (graph.value(diff).dims == graph.value(like).dims) return diff;
  return graph.emit("isobit.SumTo", {diff}, {{"shape", graph.value(like).dims}}, name);
}

ValueId constant_like(Graph& graph, ValueId like, double value, const std::string& name) {
  const bool f32 = graph.value(like).dtype == DType::kFloat32;
  return graph.add_initializer(name, f32 ? Tensor::scalar(static_cast<float>(value)) : Tensor::scalar(value));
}

ValueId emit(GradContext& c, const std::string& op, std::vector<ValueId> inputs, Attributes attributes) {
  return c.graph.emit(op, std::move(inputs), std::move(attributes), c.diff_name(0));
}

ValueId where(GradContext& c, ValueId condition, ValueId x, ValueId y) {
  const auto or_zero = [&](ValueId id) { return id == kNoValue ? constant_like(c.graph, c.diff(), 0, "zero") : id; };
  return emit(c, "Where", {condition, or_zero(x), or_zero(y)});
}

Attributes with(const Attributes& attributes, const std::string& name, Attribute value) {
  Attributes out = attributes;
  out.set(name, std::move(value));
  return out;
}

}  // namespace autograd

namespace {

const autograd::Rules& gradient_rules() {
  static const autograd::Rules kRules = [] {
    autograd::Rules rules;
    autograd::add_elementwise(rules);
    autograd::add_activation(rules);
    autograd::add_linear(rules);
    autograd::add_pool(rules);
    autograd::add_columns(rules);
    autograd::add_sampling(rules);
    autograd::add_norm(rules);
    autograd::add_softmax(rules);
    autograd::add_reduce(rules);
    autograd::add_order(rules);
    autograd::add_movement(rules);
    autograd::add_slicing(rules);
    autograd::add_indexing(rules);
    return rules;
  }();
  return kRules;
}

}  // namespace

const GradRule* find_gradient(const std::string& op) {
  const auto found = gradient_rules().find(op);
  return found == gradient_rules().end() ? nullptr : &found->second;
}

std::vector<std::string> operators_with_gradients() {
  std::vector<std::string> ops;
  for (const auto& [op, rule] : gradient_rules()) ops.push_back(op);
  return ops;
}

namespace {

// Which values lie on a path from a target to the loss: only they get gradients.
std::vector<bool> values_that_depend_on(const Graph& graph, std::span<const ValueId> targets) {
  std::vector<bool> depends(static_cast<size_t>(graph.value_count()), false);
  for (ValueId t : targets) depends[static_cast<size_t>(t)] = true;
  for (const Node& node : graph.nodes()) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId i) { return i != kNoValue && depends[static_cast<size_t>(i)]; });
    if (!any) continue;
    for (ValueId o : node.outputs) {
      if (o != kNoValue) depends[static_cast<size_t>(o)] = true;
    }
  }
  return depends;
}

// Rules make values of the shapes that the graph has: these are to be such that every operator takes them.
Status check_values(const Graph& graph) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const Value& value = graph.value(id);
    const Status countable = ops::check_countable(value.dtype, value.dims);
    if (!countable) return unreadable(text_of("value '", value.name, "': ", countable.error().message));
  }
  return {};
}

}  // namespace

Expected<std::vector<ValueId>> append_gradients(Graph& graph, ValueId loss, std::span<const ValueId> targets) {
  ISOBIT_RETURN_IF_ERROR(check_values(graph));
  const std::vector<bool> depends = values_that_depend_on(graph, targets);
  std::vector<ValueId> grad(static_cast<size_t>(graph.value_count()), kNoValue);
  const DType dtype = graph.value(loss).dtype;
  grad[static_cast<size_t>(loss)] =
      graph.add_initializer("grad/loss", dtype == DType::kFloat32 ? Tensor::scalar(1.0f) : Tensor::scalar(1.0));

  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node node = graph.nodes()[n];
    GradContext context{graph, node, {}, {}, {}};
    bool flows = false, wanted = false;
    for (ValueId o : node.outputs) {
      context.diff_outputs.push_back(o == kNoValue ? kNoValue : grad[static_cast<size_t>(o)]);
      flows = flows || context.diff_outputs.back() != kNoValue;
    }
    for (ValueId i : node.inputs) {
      const bool w = i != kNoValue && depends[static_cast<size_t>(i)];
      context.wanted.push_back(w);
      wanted = wanted || w;
    }
    if (!flows || !wanted) continue;
    const GradRule* rule = find_gradient(node.op);
    if (rule == nullptr) return unreadable(text_of("node '", node.name, "': operator ", node.op, " has no gradient"));
    const std::vector<ValueId> diffs = (*rule)(context);
    if (!context.refusal.empty()) {
      return unreadable(text_of("node '", node.name, "' (", node.op, "): ", context.refusal));
    }
    ISOBIT_CHECK(diffs.size() == node.inputs.size());
    for (size_t i = 0; i < diffs.size(); ++i) {
      if (diffs[i] == kNoValue || !context.wanted[i]) continue;
      ValueId& total = grad[static_cast<size_t>(node.inputs[i])];
      total = total == kNoValue ? diffs[i] : graph.emit("Add", {total, diffs[i]}, {}, graph.value(total).name);
    }
  }
  std::vector<ValueId> out;
  for (ValueId t : targets) out.push_back(grad[static_cast<size_t>(t)]);
  return out;
}

}  // namespace isobit::graph
