// A graph whose shapes follow from data, run node by node: each node is bound when its operands are there, and a value
// is freed after the last node that reads it.
#include <algorithm>
#include <unordered_set>

#include "isobit/base/text.h"
#include "isobit/runtime/bound_node.h"
#include "isobit/runtime/plan.h"
#include "isobit/runtime/prepared_run.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using Feed = Executor::Feed;

class StepwiseRun final : public PreparedRun {
 public:
  StepwiseRun(const Graph& graph, std::optional<Graph> own, const Surroundings& around)
      : own_(std::move(own)), graph_(own_ ? *own_ : graph), around_(around) {}

  Status list();
  std::optional<uint64_t> peak_bytes() const override { return std::nullopt; }
  Status run(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
             const RunOptions& options) override;

 private:
  // A node, and what it was bound for when it ran last.
  struct Step {
    size_t node = 0;
    const Kernel* kernel = nullptr;
    std::vector<Tensor> bound_for;  // by input: constants, and the types of the others
    std::vector<char> is_constant;  // by input
    std::optional<BoundNode> bound;
  };
  // Values that have one storage together, counted under the first of them.
  struct Block {
    uint64_t bytes = 0;
    int64_t readers = 0;  // values of it that are still to be read
  };

  static size_t at(ValueId id) { return static_cast<size_t>(id); }
  bool is_constant(ValueId id) const { return is_constant_[at(id)] != 0; }
  Status take(std::span<const Feed> feeds, Holding& holding);
  Status compute(size_t step, const kernels::KernelContext& ctx, const RunOptions& options, Holding& holding);
  Status bind(Step& step);
  bool is_bound_for_these(const Step& step, const Node& node) const;
  std::vector<ValueId> write_over_operands(size_t step, KernelCall& call);
  void keep_outputs(KernelCall& call, const std::vector<ValueId>& over);
  void free_what_is_read(size_t step, Holding& holding);
  void leave(ValueId id, Holding& holding);
  void hand_out(std::span<Feed> feeds, std::span<Tensor> outputs) const;
  void forget();

  static constexpr size_t kForever = SIZE_MAX;

  const std::optional<Graph> own_;
  const Graph& graph_;
  const Surroundings around_;
  std::vector<Step> steps_;
  // All by value.
  std::vector<size_t> last_use_;  // a step, kForever for graph outputs and constants; 0 for none
  std::vector<char> is_fed_, is_constant_;
  std::vector<Tensor> values_;     // undefined where there is none at the moment
  std::vector<ValueId> block_of_;  // of what a node has made
  std::vector<Block> blocks_;      // of the first value of a block
};

Status StepwiseRun::list() {
  ISOBIT_TRY(const std::vector<PlanStep> steps, list_steps(graph_, around_.table));
  const auto values = static_cast<size_t>(graph_.value_count());
  last_use_.assign(values, 0);
  is_fed_.assign(values, 0);
  is_constant_.assign(values, 0);
  values_.resize(values);
  block_of_.assign(values, kNoValue);
  blocks_.resize(values);
  for (const PlanStep& step : steps) {
    for (const ValueId i : step.inputs) {
      if (i != kNoValue) last_use_[at(i)] = steps_.size();
    }
    steps_.emplace_back();
    steps_.back().node = step.node;
    steps_.back().kernel = step.kernel;
  }
  for (const ValueId o : graph_.outputs()) last_use_[at(o)] = kForever;
  for (const ValueId i : graph_.inputs()) is_fed_[at(i)] = 1;
  for (const graph::Initializer& i : graph_.initializers()) {
    last_use_[at(i.value)] = kForever;
    is_constant_[at(i.value)] = 1;
    values_[at(i.value)] = i.tensor;
  }
  return {};
}

Status StepwiseRun::run(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
                        const RunOptions& options) {
  ISOBIT_CHECK(outputs.size() == graph_.outputs().size());
  const AtEnd forgotten([&] { forget(); });
  Holding holding(around_.ledger);
  ISOBIT_RETURN_IF_ERROR(take(feeds, holding));
  if (options.observer != nullptr) options.observer->begin_run(graph_);
  if (options.stage != nullptr) options.stage->begin_run(graph_);
  for (size_t s = 0; s < steps_.size(); ++s) ISOBIT_RETURN_IF_ERROR(compute(s, ctx, options, holding));
  if (around_.whole) ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx.pool));
  hand_out(feeds, outputs);
  if (options.memory != nullptr) options.memory->peak_bytes = around_.ledger.peak_bytes();
  return {};
}

// Feeds stay where they are and are shared, so that no kernel writes over them.
Status StepwiseRun::take(std::span<const Feed> feeds, Holding& holding) {
  for (const auto& [id, tensor] : feeds) {
    if (id < 0 || id >= graph_.value_count() || is_fed_[at(id)] == 0) {
      return unreadable(text_of("a feed is for value ", id, ", which is no input of the graph"));
    }
    if (values_[at(id)].defined()) return unreadable(text_of("input '", graph_.value(id).name, "' is fed twice"));
    ISOBIT_RETURN_IF_ERROR(check_feed(graph_.value(id), tensor));
    ISOBIT_RETURN_IF_ERROR(holding.take(nullptr, tensor.bytes()));
    values_[at(id)] = tensor;
  }
  for (const ValueId i : graph_.inputs()) {
    if (!values_[at(i)].defined()) return unreadable(text_of("input '", graph_.value(i).name, "' is not fed"));
  }
  return {};
}

bool StepwiseRun::is_bound_for_these(const Step& step, const Node& node) const {
  if (!step.bound) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue || is_constant(node.inputs[i])) continue;
    const Tensor &now = values_[at(node.inputs[i])], &then = step.bound_for[i];
    if (!now.has_type(then.dtype(), then.shape().dims())) return false;
    if (step.is_constant[i] != 0 && !identical(now, then)) return false;
  }
  return true;
}

Status StepwiseRun::bind(Step& step) {
  const Node& node = graph_.nodes()[step.node];
  if (is_bound_for_these(step, node)) return {};
  std::vector<Operand> operands;
  for (const ValueId i : node.inputs) {
    operands.push_back(i == kNoValue ? Operand{} : Operand{&values_[at(i)], is_constant(i)});
  }
  step.bound.reset();
  ISOBIT_TRY(step.bound, BoundNode::bind(graph_, node, *step.kernel, operands, around_));
  step.bound_for.assign(node.inputs.size(), Tensor());
  step.is_constant.assign(node.inputs.size(), 0);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].tensor == nullptr || is_constant(node.inputs[i])) continue;
    const Tensor& tensor = *operands[i].tensor;
    step.is_constant[i] = operands[i].is_constant ? 1 : 0;
    step.bound_for[i] =
        operands[i].is_constant ? tensor.clone() : Tensor::without_storage(tensor.dtype(), tensor.shape());
  }
  return {};
}

Status StepwiseRun::compute(size_t s, const kernels::KernelContext& ctx, const RunOptions& options, Holding& holding) {
  Step& step = steps_[s];
  const Node& node = graph_.nodes()[step.node];
  ISOBIT_RETURN_IF_ERROR(within_memory(around_.ledger, node, [&] { return bind(step); }));
  KernelCall call{ctx, node, {}, std::vector<Tensor>(node.outputs.size())};
  for (const ValueId i : node.inputs) call.inputs.push_back(i == kNoValue ? nullptr : &values_[at(i)]);
  const std::vector<ValueId> over = write_over_operands(s, call);
  const NodePlace place{graph_, step.node, step.kernel->is_view, step.bound->graph(), step.bound->node()};
  ISOBIT_RETURN_IF_ERROR(run_node(place, call, options, [&](KernelCall& c) {
    return within_memory(around_.ledger, node, [&] { return step.bound->run(c, around_.ledger, holding); });
  }));
  keep_outputs(call, over);
  free_what_is_read(s, holding);
  return {};
}

// As the plan does it: an operand of the same type that nothing else holds and nothing reads afterwards. Returns whose
// storage each output has, views included; kNoValue: its own.
std::vector<ValueId> StepwiseRun::write_over_operands(size_t s, KernelCall& call) {
  const Step& step = steps_[s];
  std::vector<ValueId> over(call.outputs.size(), kNoValue);
  if (step.kernel->is_view) over[0] = call.node.inputs[0];
  for (const auto& [output, input] : step.kernel->in_place) {
    const auto o = static_cast<size_t>(output), i = static_cast<size_t>(input);
    if (o >= call.outputs.size() || over[o] != kNoValue || i >= call.inputs.size() || call.inputs[i] == nullptr)
      continue;
    const ValueId id = call.node.inputs[i];
    const Tensor& operand = values_[at(id)];
    const graph::Value* value = step.bound->output(o);
    if (value == nullptr || !value->is_static() || last_use_[at(id)] != s || !operand.sole_owner() ||
        std::ranges::count(call.node.inputs, id) != 1 || value->dtype != operand.dtype() ||
        !checked_elements(value->dims, value->dtype, operand.bytes()) ||
        value->shape().elements() != operand.elements()) {
      continue;
    }
    call.outputs[o] = operand.reshaped(value->shape());
    over[o] = id;
  }
  return over;
}

void StepwiseRun::keep_outputs(KernelCall& call, const std::vector<ValueId>& over) {
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const ValueId id = call.node.outputs[o];
    if (id == kNoValue) continue;
    // What lies over a feed or a constant has a block without bytes of its own.
    const ValueId first = over[o] == kNoValue ? kNoValue : block_of_[at(over[o])];
    values_[at(id)] = std::move(call.outputs[o]);
    block_of_[at(id)] = first == kNoValue ? id : first;
    if (over[o] == kNoValue) blocks_[at(id)].bytes = values_[at(id)].bytes();
    ++blocks_[at(block_of_[at(id)])].readers;
  }
}

void StepwiseRun::free_what_is_read(size_t s, Holding& holding) {
  const Node& node = graph_.nodes()[steps_[s].node];
  for (const ValueId i : node.inputs) {
    if (i != kNoValue && last_use_[at(i)] == s) leave(i, holding);
  }
  for (const ValueId o : node.outputs) {
    if (o != kNoValue && last_use_[at(o)] <= s) leave(o, holding);
  }
}

void StepwiseRun::leave(ValueId id, Holding& holding) {
  if (is_fed_[at(id)] != 0 || !values_[at(id)].defined()) return;
  values_[at(id)] = Tensor();
  Block& block = blocks_[at(block_of_[at(id)])];
  if (--block.readers == 0) holding.give_back(block.bytes);
}

// A feed that an output has is the output's from now on.
void StepwiseRun::hand_out(std::span<Feed> feeds, std::span<Tensor> outputs) const {
  for (size_t o = 0; o < outputs.size(); ++o) outputs[o] = values_[at(graph_.outputs()[o])];
  std::unordered_set<const void*> handed_out;
  for (const Tensor& t : outputs) handed_out.insert(t.raw());
  for (auto& [id, tensor] : feeds) {
    if (handed_out.contains(tensor.raw())) tensor = Tensor();
  }
}

// Nothing of a caller's is held between runs.
void StepwiseRun::forget() {
  for (size_t id = 0; id < values_.size(); ++id) {
    if (!is_constant(static_cast<ValueId>(id))) values_[id] = Tensor();
    block_of_[id] = kNoValue;
    blocks_[id] = {};
  }
}

}  // namespace

Expected<std::unique_ptr<PreparedRun>> make_stepwise_run(const Graph& graph, std::optional<Graph> own,
                                                         const Surroundings& around) {
  auto run = std::make_unique<StepwiseRun>(graph, std::move(own), around);
  ISOBIT_RETURN_IF_ERROR(run->list());
  return std::unique_ptr<PreparedRun>(std::move(run));
}

}  // namespace isobit::runtime
