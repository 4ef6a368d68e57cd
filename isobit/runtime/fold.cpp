#include "isobit/runtime/fold.h"

#include <algorithm>
#include <optional>

#include "isobit/graph/passes/rebuild.h"
#include "isobit/runtime/bound_node.h"

namespace isobit::runtime {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;

namespace {

bool may_be_computed(const graph::OpDef& def) {
  return def.platform_independent && !def.runs_graphs && !def.updates_state;
}

// What a node is computed from, if that is all known and small: constants, or tensors that have a shape and no
// elements.
std::optional<std::vector<Tensor>> known_operands(const Graph& made, const Node& node, uint64_t most_bytes) {
  std::vector<Tensor> operands;
  bool any = false;
  for (const ValueId id : node.inputs) {
    operands.emplace_back();
    if (id == kNoValue) continue;
    any = true;
    const graph::Value& value = made.value(id);
    if (graph::op_of(node).follows_from_shape()) {
      if (!value.is_static() || !checked_extents(value.dims, value.dtype, INT64_MAX)) return std::nullopt;
      operands.back() = Tensor::without_storage(value.dtype, value.shape());
      continue;
    }
    const Tensor* constant = made.initializer(id);
    if (constant == nullptr || !checked_extents(value.dims, value.dtype, most_bytes)) return std::nullopt;
    operands.back() = *constant;
  }
  if (!any) return std::nullopt;  // what has no operands may be of chance
  return operands;
}

// Steps that the kernel takes at most, in elements that it goes through.
uint64_t work_of(const Node& node, const BoundNode& bound, const std::vector<Tensor>& operands) {
  const graph::OpDef& def = graph::op_of(node);
  uint64_t in = 1, largest = 1, out = 1;
  for (const Tensor& operand : operands) {
    if (!operand.defined()) continue;  // only its shape counts
    in += static_cast<uint64_t>(operand.elements());
    largest = std::max(largest, static_cast<uint64_t>(operand.elements()));
  }
  bool one_by_one = true;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const graph::Value* value = bound.output(o);
    if (value == nullptr) continue;
    const graph::ElementRule rule = def.output(o).rule;
    one_by_one = one_by_one && (rule == graph::ElementRule::kMoved || rule == graph::ElementRule::kPointwise);
    out += value->is_static() ? static_cast<uint64_t>(value->shape().elements()) : largest;
  }
  return one_by_one || def.follows_from_shape() ? in + out : in * out;
}

}  // namespace

std::vector<Tensor> Folding::outputs_of(const Graph& made, const Node& node) {
  const auto kernel = table_.find(node.op);
  if (kernel == table_.end() || !may_be_computed(graph::op_of(node))) return {};
  auto known = known_operands(made, node, options_.most_bytes);
  if (!known) return {};
  std::vector<Operand> operands;
  for (size_t i = 0; i < known->size(); ++i) {
    operands.push_back({node.inputs[i] == kNoValue ? nullptr : &(*known)[i], (*known)[i].defined()});
  }
  const Limits limits{.tensor_bytes = options_.most_bytes, .total_bytes = left_};
  Ledger ledger(limits);
  Holding holding(ledger);
  const auto bound = BoundNode::bind(made, node, kernel->second, operands, {table_, ledger});
  if (!bound) return {};
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (bound->output(o) != nullptr && RealTypes::contains(bound->output(o)->dtype) && !options_.reals) return {};
  }
  const uint64_t work = work_of(node, *bound, *known);
  if (work > work_left_) return {};
  work_left_ -= work;
  const kernels::KernelContext ctx{kernels::Isa::kPortable, &pool_};
  KernelCall call{ctx, node, {}, std::vector<Tensor>(node.outputs.size())};
  for (const Operand& operand : operands) call.inputs.push_back(operand.tensor);
  if (!bound->run(call, ledger, holding)) return {};
  left_ -= ledger.held_bytes();
  return std::move(call.outputs);
}

Expected<Graph> fold(const Graph& graph, const FoldOptions& options, const KernelTable& table) {
  Folding folding(options, table);
  graph::Rebuilding rule;
  rule.input = [&](size_t i) -> Expected<graph::InferContext::Type> {
    const graph::Value& value = graph.value(graph.inputs()[i]);
    return graph::InferContext::Type{value.dtype, value.dims};
  };
  rule.computed = [&](const Graph& made, const Node& node) { return folding.outputs_of(made, node); };
  return graph::rebuild(graph, rule);
}

}  // namespace isobit::runtime
