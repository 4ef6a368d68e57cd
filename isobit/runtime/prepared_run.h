// A graph ready to be run by the executor, whichever way: all at once after a plan, or node by node.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "isobit/base/fp_env.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/ledger.h"

namespace isobit::runtime {

class PreparedRun {
 public:
  virtual ~PreparedRun() = default;
  // As Executor::run_into. The caller looks at the floating-point environment before.
  virtual Status run(const kernels::KernelContext& ctx, std::span<Executor::Feed> feeds, std::span<Tensor> outputs,
                     const RunOptions& options) = 0;
  // nullopt: not known before a run.
  virtual std::optional<uint64_t> peak_bytes() const = 0;
  // What is kept from run to run and can be made again.
  virtual void release_memory() {}
};

// What a run lies in. Both outlive it.
struct Surroundings {
  const KernelTable& table;
  Ledger& ledger;
  bool whole = true;  // no part of another run
};

// own: the graph to run in place of `graph`, kept with the run. REQUIRES is_static() of it (specialise.h).
Expected<std::unique_ptr<PreparedRun>> make_planned_run(const graph::Graph& graph, std::optional<graph::Graph> own,
                                                        const Surroundings& around);
// Of any graph.
Expected<std::unique_ptr<PreparedRun>> make_stepwise_run(const graph::Graph& graph, std::optional<graph::Graph> own,
                                                         const Surroundings& around);

// Whether a tensor may be fed for this value of known shape; the error names it.
Status check_feed(const graph::Value& input, const Tensor& tensor);

template <class F>
class AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  ~AtEnd() { f_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F f_;
};

// Where a node stands in its run, and the graph that knows its shapes.
struct NodePlace {
  const graph::Graph& graph;
  size_t index;
  bool is_view;
  const graph::Graph& typed_graph;
  const graph::Node& typed_node;
};

// What a kernel said. What it finds wrong in a changed environment is that environment's.
inline Status in_environment(const kernels::KernelContext& ctx, Status done) {
  if (!done) ISOBIT_RETURN_IF_ERROR(check_fp_environment(*ctx.pool));
  return done;
}

// Who changes outputs as their elements come: the stage, unless somebody looks at them before.
inline kernels::Finisher* finisher_for(KernelCall& call, const RunOptions& options) {
  if (options.stage == nullptr || (options.observer != nullptr && options.observer->wants_values())) return nullptr;
  return options.stage->finisher(call);
}

// What happens to a node: compute(call) -> Status, then the stage, and what an observer sees of it.
template <class Compute>
Status run_node(const NodePlace& at, KernelCall& call, const RunOptions& options, Compute&& compute) {
  Observer* const observer = options.observer;
  Stage* const stage = options.stage;
  const AtEnd held_no_longer([&] { call.statistics.clear(); });
  const bool statistics_wanted = !at.is_view && observer != nullptr && observer->wants_statistics();
  const std::vector<graph::Statistic> statistics =
      statistics_wanted ? graph::statistics_of(at.typed_graph, at.typed_node) : std::vector<graph::Statistic>{};
  for (const graph::Statistic& s : statistics) call.statistics.emplace_back(call.in(0).dtype(), Shape(s.dims));
  ISOBIT_RETURN_IF_ERROR(in_environment(call.ctx, compute(call)));
  if (!at.is_view) {
    for (size_t s = 0; s < statistics.size(); ++s) {
      if (statistics[s].output >= 0) call.statistics[s] = call.out(statistics[s].output);
    }
    if (observer != nullptr) {
      ISOBIT_RETURN_IF_ERROR(observer->before_stage(
          {at.graph, at.index, call.node, call.ctx, call.inputs, call.outputs, call.statistics, at.is_view}));
    }
    if (stage != nullptr) ISOBIT_RETURN_IF_ERROR(stage->apply(at.index, call));
  }
  if (observer == nullptr) return {};
  return observer->after_stage({at.graph, at.index, call.node, call.ctx, call.inputs, call.outputs, {}, at.is_view});
}

// The same of a node that has run before, on the same operands. Its outputs have been seen.
template <class Compute>
Status run_node_again(const NodePlace& at, KernelCall& call, const RunOptions& options, Compute&& compute) {
  ISOBIT_RETURN_IF_ERROR(in_environment(call.ctx, compute(call)));
  if (at.is_view) return {};
  if (options.stage != nullptr) ISOBIT_RETURN_IF_ERROR(options.stage->apply_again(at.index, call));
  if (options.observer != nullptr) options.observer->ran_again(at.index);
  return {};
}

}  // namespace isobit::runtime
