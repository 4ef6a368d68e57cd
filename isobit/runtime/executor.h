// Runs a graph on a platform, one operator after another, and lets observers see every operator's outputs.
//
// There is one executor. A value is freed after its last use; an operator that may work in place does so when its
// operand is not needed again, so that a training step holds what the backward pass needs and no more.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/kernels/context.h"
#include "isobit/tensor/tensor.h"

namespace isobit::runtime {

struct KernelCall;  // kernel_call.h

// A node that has just run, as an observer sees it. Tensors may be overwritten once the call returns: clone() what is
// to be kept.
struct NodeRun {
  const graph::Graph& graph;
  size_t index;  // of the node in the graph
  const graph::Node& node;
  const kernels::KernelContext& ctx;
  std::span<const Tensor* const> inputs;  // null: absent. Read them through input().
  std::span<const Tensor> outputs;        // undefined: absent
  // graph::statistics_of the node as the kernel computed them. Before the stage, and only if they were wanted.
  std::span<const Tensor> statistics = {};

  // Input i; null when it is absent or the kernel has written an output over it.
  const Tensor* input(size_t i) const;
};

// Sees every node in the order of the graph and changes nothing. An error ends the run.
class Observer {
 public:
  virtual ~Observer() = default;
  // Whether kernels are to give out their statistics (graph::statistics_of) as well, which costs time: for a trace.
  virtual bool wants_statistics() const { return false; }
  // What the kernel computed. Not called for views, which compute nothing.
  virtual Status before_stage(const NodeRun&) { return {}; }
  // What every later node reads.
  virtual Status after_stage(const NodeRun&) { return {}; }
};

// Changes an operator's outputs before anybody sees them: the rounding of logged arithmetic.
class Stage {
 public:
  virtual ~Stage() = default;
  // A run of the graph begins. What wraps another stage should pass it on: it is for speed.
  virtual void begin_run(const graph::Graph&) {}
  // Node `index` of the graph has run. Its operands are as they were, but for those that its kernel may write over;
  // outputs are to be changed in place. Not called for views. An error ends the run.
  virtual Status apply(size_t index, KernelCall& call) = 0;
};

struct MemoryUse {
  size_t peak_bytes = 0;  // most bytes held at once in values, feeds included
};

// What a run is asked for besides its outputs. Nothing here is owned; null: not wanted.
struct RunOptions {
  Observer* observer = nullptr;
  Stage* stage = nullptr;
  MemoryUse* memory = nullptr;
};

class Executor {
 public:
  // `graph` is not owned and must outlive the executor. REQUIRES every operator of it to have a kernel
  // (unsupported_operators is empty).
  explicit Executor(const graph::Graph& graph);

  using Feeds = std::vector<std::pair<graph::ValueId, Tensor>>;

  // Feeds give every graph input; a feed that nobody else holds may be overwritten. Returns the graph's outputs in
  // order. Errors: kUnreadable when data do not fit (a label or index out of range); kUnavailable when a thread of the
  // pool has another floating-point environment than base/fp_env.h demands (looked at before the first operator, on the
  // caller after the last as well), and what the inner products find wrong with the platform. Determinism class: that
  // of the kernels and the stage; neither ctx nor the observer reaches the bits.
  Expected<std::vector<Tensor>> run(const kernels::KernelContext& ctx, Feeds feeds, RunOptions options = {}) const;

  // What MemoryUse will say of a run whose feeds nobody else holds, from the shapes alone. kUnavailable where the sizes
  // cannot even be counted. REQUIRES a static graph.
  Expected<uint64_t> planned_peak_bytes() const;

  // The operators of `graph` that no kernel implements, each once.
  static std::vector<std::string> unsupported_operators(const graph::Graph& graph);

 private:
  const graph::Graph& graph_;
  std::vector<int64_t> last_use_;  // node index per value; node count for graph outputs
};

}  // namespace isobit::runtime
