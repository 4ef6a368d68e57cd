#include "isobit/run/step_tracer.h"

#include <algorithm>

#include "isobit/verify/schema.h"

namespace isobit::run {
namespace {

using Kind = train::TraceEntry::Kind;

std::string first_output(const graph::Graph& graph, const graph::Node& node) {
  for (const graph::ValueId id : node.outputs) {
    if (id != graph::kNoValue) return graph.value(id).name;
  }
  return "";
}

}  // namespace

StepTracer::StepTracer(const train::StepGraph& step, const std::vector<train::TraceEntry>& schema,
                       std::set<uint64_t> wanted, Hash hash, See seen)
    : step_(step),
      schema_(schema),
      wanted_(std::move(wanted)),
      hash_(hash),
      seen_(std::move(seen)),
      roots_(schema.size()),
      known_(schema.size(), false) {
  for (size_t i = 0; i < schema.size(); ++i) {
    const train::TraceEntry& e = schema[i];
    if (e.kind == Kind::kOutput) outputs_[name_of_output(e)] = i;
    if (e.kind == Kind::kStatistic) statistics_[{e.node, e.place}] = i;
  }
  for (size_t n = 0; n < step.graph.nodes().size(); ++n) nodes_[first_output(step.graph, step.graph.nodes()[n])] = n;
}

void StepTracer::take_feeds(const train::Trainer& trainer, const runtime::Executor::Feeds& feeds, ThreadPool& pool) {
  size_t next = 0;
  for (const NamedTensor& piece : trainer.state()) take(next++, piece.tensor, pool);
  for (const auto& [id, tensor] : feeds) take(next++, tensor, pool);
}

void StepTracer::take_inputs(const std::vector<NamedTensor>& inputs, ThreadPool& pool) {
  for (size_t i = 0; i < inputs.size(); ++i) take(i, inputs[i].tensor, pool);
}

void StepTracer::take_state_after(const train::Trainer& trainer, ThreadPool& pool) {
  for (size_t i = 0; i < trainer.state().size(); ++i) {
    const auto entry = outputs_.find(step_.graph.value(step_.slots[i].out).name);
    if (entry != outputs_.end()) take(entry->second, trainer.state()[i].tensor, pool);
  }
}

Status StepTracer::before_stage(const runtime::NodeRun& run) {
  if (run.statistics.empty()) return {};
  const auto node = nodes_.find(first_output(run.graph, run.node));
  for (size_t s = 0; node != nodes_.end() && s < run.statistics.size(); ++s) {
    const auto entry = statistics_.find({static_cast<int64_t>(node->second), static_cast<int64_t>(s)});
    if (entry != statistics_.end()) take(entry->second, run.statistics[s], *run.ctx.pool);
  }
  return {};
}

Status StepTracer::after_stage(const runtime::NodeRun& run) {
  for (size_t o = 0; o < run.outputs.size(); ++o) {
    if (!run.outputs[o].defined()) continue;
    const auto entry = outputs_.find(run.graph.value(run.node.outputs[o]).name);
    if (entry != outputs_.end()) take(entry->second, run.outputs[o], *run.ctx.pool);
  }
  return {};
}

std::optional<size_t> StepTracer::missing() const {
  const auto found = std::ranges::find(known_, false);
  if (found == known_.end()) return std::nullopt;
  return static_cast<size_t>(found - known_.begin());
}

// A graph whose frozen parameters are constants has the same values by their names.
std::string StepTracer::name_of_output(const train::TraceEntry& e) const {
  const graph::Node& node = step_.graph.nodes()[static_cast<size_t>(e.node)];
  return step_.graph.value(node.outputs[static_cast<size_t>(e.place)]).name;
}

void StepTracer::take(size_t index, const Tensor& tensor, ThreadPool& pool) {
  const train::TraceEntry& e = schema_[index];
  if (hash_ == Hash::kAll) roots_[index] = commit::tensor_root(e.name, tensor, verify::layout_of(e), pool);
  known_[index] = true;
  if (!wanted_.contains(index)) return;
  seen_ ? seen_(index, tensor) : void(values_[index] = tensor.clone());
}

}  // namespace isobit::run
