// Runs a graph on a platform, one operator after another, and lets observers see every operator's outputs.
//
// There is one executor. Where every value lies is planned once (plan.h): an operator that may work in place does so
// when its operand is not needed again, and values that are never needed at the same time share memory, so that a
// training step holds what the backward pass needs and no more, and allocates nothing.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/kernels/context.h"
#include "isobit/runtime/kernel_table.h"
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
  bool is_view = false;  // output 0 is input 0 under other dimensions

  // Input i; null when it is absent or the kernel has written an output over it.
  const Tensor* input(size_t i) const;
};

// The call of a node that has run, with copies of its outputs: for who wants to try what a stage would make of them.
KernelCall detached(const NodeRun& run);

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

// Changes an operator's outputs before any later node reads them: the rounding of logged arithmetic. Who changes
// nothing is an observer.
class Stage {
 public:
  virtual ~Stage() = default;
  // A run of the graph begins: what a stage remembers from node to node starts here. A stage that wraps another one
  // passes this on.
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
  // Plans the run of `graph` with the kernels of `table`. Neither is owned; both must outlive the executor. What is
  // wrong with them (an operator without a kernel, sizes that cannot be counted) is an error of every run.
  explicit Executor(const graph::Graph& graph, const KernelTable& table = kernel_table());
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  using Feed = std::pair<graph::ValueId, Tensor>;
  using Feeds = std::vector<Feed>;

  // Feeds give every graph input, in any order. Returns the graph's outputs in order. A feed that somebody else holds
  // is copied where the graph writes over it. One run at a time; each keeps its memory for the next.
  // Errors: kUnreadable for a feed that is missing, given twice, on another device than the host, or of another type or
  // shape than the graph's, and when data do not fit (a label or index out of range); kUnavailable when memory runs
  // out, when a thread of the pool has another floating-point environment than base/fp_env.h demands (looked at before
  // the first operator and after the last), and what the inner products find wrong with the platform; kUsage for a run
  // in the middle of another; what a stage or an observer says. What a stage or an observer throws goes on to the
  // caller, as after an error. Determinism class: that of the kernels and the stage; neither ctx nor the observer
  // reaches the bits.
  Expected<std::vector<Tensor>> run(const kernels::KernelContext& ctx, Feeds feeds, RunOptions options = {});

  // The same for a caller who keeps feeds and outputs from run to run, so that nothing is allocated. A feed's memory is
  // there again afterwards unless an output has it; its values may have been written over. An output is written to the
  // tensor that stands in its place already if that has its type and shape, lies on the host, and nobody holds it but
  // the places of outputs that are views of one another. After an error every feed and every place has its memory
  // again; values may have been written over once all feeds had been found to fit. REQUIRES one place for each graph
  // output.
  Status run_into(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
                  RunOptions options = {});

  // What planning found wrong, which every run returns. Never an error for a graph whose shapes are known only at run
  // time: it is planned in the run.
  const Status& status() const { return unusable_; }

  // The memory of a run whose feeds nobody else holds: what MemoryUse will say. kUnavailable where the sizes cannot
  // even be counted; kUnreadable for a graph whose shapes are not known before the run.
  Expected<uint64_t> planned_peak_bytes() const;

 private:
  class Prepared;
  Status plan_whole();
  Status prepare_for(std::span<const Feed> feeds);
  Status run_alone(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
                   const RunOptions& options);

  const graph::Graph& graph_;
  const KernelTable& table_;
  const bool is_static_;                // every shape is known
  Status unusable_;                     // what planning found wrong
  std::unique_ptr<Prepared> prepared_;  // where shapes are not known: for those of the last run
  std::vector<Shape> shapes_;           // of its feeds
  std::atomic<int> running_ = 0;        // a word: not every machine exchanges a byte
};

}  // namespace isobit::runtime
