#include "isobit/graph/autograd/autograd.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/op.h"
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

ValueId reshaped(GradContext& c, ValueId value, const std::vector<int64_t>& dims) {
  if (c.dims(value) == dims) return value;
  return emit(c, "Reshape", {value}, {{"shape", dims}, {"allowzero", int64_t{1}}});
}

ValueId filled(GradContext& c, ValueId like, double value, const std::vector<int64_t>& dims) {
  const ValueId number = constant_like(c.graph, like, value, "constant");
  return dims.empty() ? number : c.graph.emit("Expand", {number}, {{"shape", dims}}, "filled");
}

std::vector<ValueId> constant_between_steps(GradContext& c) {
  return std::vector<ValueId>(c.node.inputs.size(), kNoValue);
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

const Rules& all_rules() {
  static const Rules kRules = [] {
    Rules rules;
    add_elementwise(rules);
    add_activation(rules);
    add_linear(rules);
    add_pool(rules);
    add_columns(rules);
    add_sampling(rules);
    add_norm(rules);
    add_softmax(rules);
    add_reduce(rules);
    add_order(rules);
    add_movement(rules);
    add_slicing(rules);
    add_indexing(rules);
    add_scatter(rules);
    add_composite(rules);
    add_control(rules);
    add_others(rules);
    return rules;
  }();
  return kRules;
}

}  // namespace autograd

const GradRule* find_gradient(const std::string& op) {
  const auto& rules = autograd::all_rules().with;
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : &found->second;
}

std::string why_no_gradient(const std::string& op) {
  const auto& reasons = autograd::all_rules().without;
  const auto found = reasons.find(op);
  return found == reasons.end() ? "" : found->second;
}

std::optional<DType> gradient_type(DType dtype) {
  if (FloatTypes::contains(dtype)) return dtype;
  if (HalfTypes::contains(dtype)) return DType::kFloat32;
  return std::nullopt;
}

namespace {

size_t at(ValueId id) { return static_cast<size_t>(id); }

// Rules make values of the shapes that the graph has: these are to be such that every operator takes them.
Status check_values(const Graph& graph) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const Value& value = graph.value(id);
    const Status countable = ops::check_countable(value.dtype, value.dims);
    if (!countable) return unreadable(text_of("value '", value.name, "': ", countable.error().message));
  }
  return {};
}

// The pass from the last node back to number `first`.
class Backward {
 public:
  Backward(Graph& graph, std::span<const Seed> seeds, std::span<const ValueId> targets, size_t first)
      : graph_(graph), targets_(targets), first_(first), depends_(static_cast<size_t>(graph.value_count()), false) {
    find_dependent();
    grad_.assign(depends_.size(), kNoValue);
    for (const Seed& seed : seeds) add(seed.value, seed.diff);
  }

  Expected<std::vector<ValueId>> run() {
    for (size_t n = graph_.nodes().size(); n-- > first_;) ISOBIT_RETURN_IF_ERROR(pass(graph_.nodes()[n]));
    std::vector<ValueId> out;
    for (const ValueId t : targets_) out.push_back(grad_[at(t)]);
    return out;
  }

 private:
  // Which values lie on a path from a target to what follows from it: only they get gradients.
  void find_dependent() {
    for (const ValueId t : targets_) depends_[at(t)] = true;
    for (size_t n = first_; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      const OpDef& def = op_of(node);
      for (size_t o = 0; o < node.outputs.size(); ++o) {
        const ValueId id = node.outputs[o];
        if (id == kNoValue || !gradient_type(graph_.value(id).dtype)) continue;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
          const ValueId from = node.inputs[i];
          if (from != kNoValue && depends_[at(from)] && def.output(o).follows_from.contains(i)) depends_[at(id)] = true;
        }
      }
    }
  }

  void add(ValueId id, ValueId diff) {
    ValueId& total = grad_[at(id)];
    total = total == kNoValue ? diff : graph_.emit("Add", {total, diff}, {}, graph_.value(total).name);
  }

  Status check_known(const Node& node) const {
    for (const auto& ids : {node.inputs, node.outputs}) {
      for (const ValueId id : ids) {
        if (id == kNoValue || graph_.value(id).is_static()) continue;
        return unreadable(text_of("node '", node.name, "' (", node.op, "): the shape of '", graph_.value(id).name,
                                  "' is not known before the run; a gradient needs that it is"));
      }
    }
    return {};
  }

  // A copy: the rule's nodes may move the original.
  Status pass(Node node) {
    GradContext context{graph_, node, {}, {}, {}};
    bool flows = false, wanted = false;
    for (const ValueId o : node.outputs) {
      context.diff_outputs.push_back(o == kNoValue ? kNoValue : grad_[at(o)]);
      flows = flows || context.diff_outputs.back() != kNoValue;
    }
    for (const ValueId i : node.inputs) {
      const bool w = i != kNoValue && depends_[at(i)];
      context.wanted.push_back(w);
      wanted = wanted || w;
    }
    if (!flows || !wanted) return {};
    const GradRule* rule = find_gradient(node.op);
    if (rule == nullptr) {
      return unreadable(
          text_of("node '", node.name, "': operator ", node.op, " has no gradient: ", why_no_gradient(node.op)));
    }
    ISOBIT_RETURN_IF_ERROR(check_known(node));
    const std::vector<ValueId> diffs = (*rule)(context);
    if (!context.refusal.empty()) {
      return unreadable(text_of("node '", node.name, "' (", node.op, "): ", context.refusal));
    }
    ISOBIT_CHECK(diffs.size() == node.inputs.size());
    for (size_t i = 0; i < diffs.size(); ++i) {
      if (diffs[i] != kNoValue && context.wanted[i]) add(node.inputs[i], diffs[i]);
    }
    return {};
  }

  Graph& graph_;
  std::span<const ValueId> targets_;
  const size_t first_;
  std::vector<bool> depends_;  // by value, as far as there were any when the pass began
  std::vector<ValueId> grad_;
};

}  // namespace

Expected<std::vector<ValueId>> append_gradients(Graph& graph, ValueId loss, std::span<const ValueId> targets) {
  const DType dtype = graph.value(loss).dtype;
  const ValueId one =
      graph.add_initializer("grad/loss", dtype == DType::kFloat32 ? Tensor::scalar(1.0f) : Tensor::scalar(1.0));
  const Seed seeds[] = {{loss, one}};
  return append_gradients(graph, seeds, targets);
}

Expected<std::vector<ValueId>> append_gradients(Graph& graph, std::span<const Seed> seeds,
                                                std::span<const ValueId> targets, size_t first) {
  ISOBIT_RETURN_IF_ERROR(check_values(graph));
  return Backward(graph, seeds, targets, first).run();
}

}  // namespace isobit::graph
