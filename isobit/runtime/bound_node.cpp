#include "isobit/runtime/bound_node.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::Value;
using graph::ValueId;

namespace {

constexpr uint64_t kMostShapeBytes = uint64_t{1} << 20;

// Where a graph is being built anew, the outputs of the node that is looked at are not in it yet.
std::string name_of_output(const Graph& from, ValueId o) {
  if (o == kNoValue) return "";
  return o < from.value_count() ? from.value(o).name : text_of("value ", o);
}

// copied: operands whose storage the graph is not to share.
Expected<Graph> graph_of_node(const Graph& from, const Node& node, std::span<const Operand> operands,
                              const std::vector<char>& copied) {
  Graph one;
  std::map<ValueId, ValueId> known;  // by value of `from`: an operand may come twice
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(kNoValue);
    if (operands[i].tensor == nullptr) continue;
    const auto [at, is_new] = known.emplace(node.inputs[i], kNoValue);
    if (is_new) {
      const std::string& name = from.value(node.inputs[i]).name;
      const Tensor& tensor = *operands[i].tensor;
      at->second = operands[i].is_constant ? one.add_initializer(name, copied[i] != 0 ? tensor.clone() : tensor)
                                           : one.add_input(name, tensor.dtype(), tensor.shape().dims());
    }
    inputs.back() = at->second;
  }
  std::vector<std::string> names;
  for (const ValueId o : node.outputs) names.push_back(name_of_output(from, o));
  ISOBIT_RETURN_IF_ERROR(one.add_node(node.op, std::move(inputs), node.attributes, std::move(names), node.name));
  return one;
}

Status check_shape_operand(const Node& node, int i, const Tensor& tensor) {
  if (tensor.defined() && tensor.bytes() <= kMostShapeBytes) return {};
  return unreadable(text_of(text_of_node(node), ": input ", i, " forms a shape and has ", human_bytes(tensor.bytes()),
                            ", expected at most ", human_bytes(kMostShapeBytes)));
}

}  // namespace

Expected<BoundNode> BoundNode::bind(const Graph& from, const Node& node, const Kernel& kernel,
                                    std::vector<Operand>& operands, const Surroundings& around) {
  BoundNode bound;
  std::vector<char> copied(operands.size(), 0);
  while (true) {
    ISOBIT_TRY(Graph one, graph_of_node(from, node, operands, copied));
    const std::vector<int> awaits = one.nodes()[0].awaits;
    if (awaits.empty()) {
      bound.graph_ = std::make_unique<Graph>(std::move(one));
      break;
    }
    for (const int i : awaits) {
      ISOBIT_RETURN_IF_ERROR(check_shape_operand(node, i, *operands[static_cast<size_t>(i)].tensor));
      // A value that the node reads twice is a constant in both places.
      for (size_t same = 0; same < operands.size(); ++same) {
        if (node.inputs[same] != node.inputs[static_cast<size_t>(i)]) continue;
        operands[same].is_constant = true;
        copied[same] = 1;
      }
    }
  }
  bound.kernel_ = &kernel;
  // Before the kernel is bound: some have tables as long as their tensors.
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const Value* value = bound.output(o);
    if (value != nullptr && value->is_static()) ISOBIT_RETURN_IF_ERROR(around.ledger.bytes_of(bound.node(), *value));
  }
  const KernelSite site{*bound.graph_, bound.node(), &around.table, &around.ledger};
  if (kernel.bind_making) {
    bound.make_ = kernel.bind_making(site);
  } else if (!kernel.is_view) {
    bound.run_ = runtime::bound(kernel, site);
  }
  return bound;
}

const Value* BoundNode::output(size_t o) const {
  const ValueId id = node().outputs[o];
  return id == kNoValue ? nullptr : &graph_->value(id);
}

Expected<std::vector<Shape>> BoundNode::measured(const KernelCall& call) const {
  std::vector<Shape> shapes(call.outputs.size());
  const bool open =
      std::ranges::any_of(node().outputs, [&](ValueId o) { return o != kNoValue && !graph_->value(o).is_static(); });
  if (open && kernel_->measure) {
    ISOBIT_TRY(shapes, kernel_->measure(call));
    ISOBIT_CHECK(shapes.size() >= call.outputs.size());
  }
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const Value* value = output(o);
    if (value == nullptr) continue;
    if (value->is_static()) {
      shapes[o] = value->shape();
    } else if (!kernel_->measure) {
      return unreadable(text_of(text_of_node(node()), ": the shape of output '", value->name,
                                "' follows from data, and the kernel cannot tell it"));
    } else if (!may_have(*value, shapes[o])) {
      return unreadable(text_of(text_of_node(node()), ": output '", value->name, "' has shape ", shapes[o].text(),
                                ", expected ", Shape(value->dims).text()));
    }
  }
  return shapes;
}

Status BoundNode::bring_outputs(KernelCall& call, const Ledger& ledger, Holding& holding) const {
  ISOBIT_TRY(std::vector<Shape> shapes, measured(call));
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const Value* value = output(o);
    if (value == nullptr || call.outputs[o].defined()) continue;
    ISOBIT_TRY(const uint64_t bytes, ledger.bytes_of(node(), {value->name, value->dtype, shapes[o].dims()}));
    if (kernel_->is_view) {
      if (value->dtype != call.in(0).dtype() || bytes != call.in(0).bytes()) {
        return unreadable(text_of(text_of_node(node()), ": output '", value->name, "' of shape ", shapes[o].text(),
                                  " is a view of an operand of another size or type"));
      }
      call.outputs[o] = call.in(0).reshaped(std::move(shapes[o]));
      continue;
    }
    ISOBIT_RETURN_IF_ERROR(holding.take(&node(), bytes));
    call.outputs[o] = Tensor(value->dtype, std::move(shapes[o]));
  }
  return {};
}

Status BoundNode::make_outputs(KernelCall& call, const Ledger& ledger, Holding& holding) const {
  ISOBIT_TRY(std::vector<Tensor> made, make_(call));
  ISOBIT_CHECK(made.size() >= call.outputs.size());
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const Value* value = output(o);
    if (value == nullptr) continue;
    if (made[o].dtype() != value->dtype || !may_have(*value, made[o].shape())) {
      return unreadable(text_of(text_of_node(node()), ": output '", value->name, "' is ", name_of(made[o].dtype()), " ",
                                made[o].shape().text(), ", expected ", name_of(value->dtype), " ",
                                Shape(value->dims).text()));
    }
    ISOBIT_TRY(const uint64_t bytes, ledger.bytes_of(node(), {value->name, value->dtype, made[o].shape().dims()}));
    ISOBIT_RETURN_IF_ERROR(holding.take(&node(), bytes));
    call.outputs[o] = std::move(made[o]);
  }
  return {};
}

Status BoundNode::run(KernelCall& call, const Ledger& ledger, Holding& holding) const {
  if (make_) return make_outputs(call, ledger, holding);
  ISOBIT_RETURN_IF_ERROR(bring_outputs(call, ledger, holding));
  return kernel_->is_view ? Status{} : run_(call);
}

}  // namespace isobit::runtime
