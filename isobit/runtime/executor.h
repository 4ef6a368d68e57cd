// Runs a graph on a platform, one operator after another, and lets observers see every operator's outputs (those that
// are computed at once as one, for observers that want no values).
//
// There is one executor. Where every value lies is planned once (plan.h): an operator that may work in place does so
// when its operand is not needed again, and values that are never needed at the same time share memory, so that a
// training step holds what the backward pass needs and no more, and allocates nothing.
//
// Where shapes are known only in a run, the graph is made anew for those of the feeds, and what follows from shapes
// alone is computed (specialise.h). If every shape is known then, that graph is planned. Otherwise it is run node by
// node: each node's shapes are inferred when its operands are there, and memory is taken and freed as values come and
// go.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/kernels/context.h"
#include "isobit/runtime/kernel_table.h"
#include "isobit/runtime/recompute.h"
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
  // The nodes after this one that were computed at once with it: inputs are of `node`, outputs of the last of them
  // (Observer::wants_values).
  std::span<const graph::Node* const> following = {};

  // Input i; null when it is absent or the kernel has written an output over it.
  const Tensor* input(size_t i) const;
};

// The call of a node that has run, with copies of its outputs: for who wants to try what a stage would make of them.
// REQUIRES no following nodes.
KernelCall detached(const NodeRun& run);

// Sees every node in the order of the graph and changes nothing; without wants_values, of nodes that were computed at
// once the first alone. An error ends the run.
class Observer {
 public:
  virtual ~Observer() = default;
  // Whether kernels are to give out their statistics (graph::statistics_of) as well, which costs time: for a trace.
  virtual bool wants_statistics() const { return false; }
  // Whether nodes that only move constants are to run in every run of the graph, to be seen, instead of once.
  virtual bool wants_constants() const { return true; }
  // Whether every value is to be there when its node is seen. Else some nodes may be computed at once, without what
  // is between them: they are seen as one, the first.
  virtual bool wants_values() const { return true; }
  // A run of the graph begins: its feeds lie ready.
  virtual void begin_run(const graph::Graph&) {}
  // What the kernel computed. Not called for views, which compute nothing.
  virtual Status before_stage(const NodeRun&) { return {}; }
  // What every later node reads.
  virtual Status after_stage(const NodeRun&) { return {}; }
  // Node `index`, seen before, has run again for values that were given up (Recomputation). Not called for views.
  virtual void ran_again(size_t /*index*/) {}
};

// Changes an operator's outputs before any later node reads them: the rounding of logged arithmetic. Who changes
// nothing is an observer.
class Stage {
 public:
  virtual ~Stage() = default;
  // A run of the graph begins: what a stage remembers from node to node starts here. A stage that wraps another one
  // passes this on.
  virtual void begin_run(const graph::Graph&) {}
  // A node is about to run whose kernel finishes (kernel_call.h): who is to change its outputs as their elements come;
  // null: nobody. apply() or apply_again() follows all the same, and leaves alone what was changed. Where an observer
  // wants values, and where outputs have no memory before the node runs, this is not called.
  virtual kernels::Finisher* finisher(KernelCall&) { return nullptr; }
  // Node `index` of the graph has run. Its operands are as they were, but for those that its kernel may write over;
  // outputs are to be changed in place. Not called for views. An error ends the run.
  virtual Status apply(size_t index, KernelCall& call) = 0;
  // The node has run again in the same run, on the same operands (Recomputation): its outputs are to become what
  // apply() made of them. Nothing is counted or written down a second time.
  virtual Status apply_again(size_t index, KernelCall& call) = 0;
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

// What a run may use at most. For graphs that nobody has looked at: what is over a limit is an error that names the
// node and the limit, before memory is taken. And how it gets by with less.
struct Limits {
  static constexpr uint64_t kNone = INT64_MAX;  // no limit on bytes but what can be counted
  uint64_t tensor_bytes = kNone;                // of one tensor that a node makes
  uint64_t total_bytes = kNone;                 // of all that is held at once, feeds and inner graphs included
  int64_t trips = 1 << 20;                      // of all loops of a run together
  // Of a graph of known shapes; of another one, an error of every run. An arithmetic may not allow it
  // (check_recompute): that is for the caller to ask.
  Recomputation recomputation = {};
};

class Holding;      // ledger.h
class Ledger;       // ledger.h
class PreparedRun;  // prepared_run.h

class Executor {
 public:
  // Plans the run of `graph` with the kernels of `table`. Neither is owned; both must outlive the executor. What is
  // wrong with them (an operator without a kernel, sizes that cannot be counted or are over a limit) is an error of
  // every run.
  explicit Executor(const graph::Graph& graph, const KernelTable& table = kernel_table(), const Limits& limits = {});

  // For an operator that runs `graph`: a part of another run, whose ledger it keeps to. What the graph declares of its
  // inputs is not looked at: they are what is fed. Inputs that are the same in every run are not fed.
  struct Part {
    Ledger* ledger = nullptr;                          // not owned
    std::vector<std::pair<size_t, Tensor>> constants;  // by place among the inputs, in ascending order
  };
  Executor(const graph::Graph& graph, const KernelTable& table, Part part);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  using Feed = std::pair<graph::ValueId, Tensor>;
  using Feeds = std::vector<Feed>;

  // Feeds give every graph input, in any order. Returns the graph's outputs in order. A feed that somebody else holds
  // is copied where the graph writes over it. One run at a time; each keeps its memory for the next.
  // Errors: kUnreadable for a feed that is missing, given twice, on another device than the host, or of another type or
  // shape than the graph's, when data do not fit (a label or index out of range, an operand that makes shapes which an
  // operator does not take), for what is over a limit, and for a stage together with an operator that runs graphs, into
  // which it cannot look (observers see such an operator as one); kUnavailable when memory runs
  // out, when a thread of the pool has another floating-point environment than base/fp_env.h demands (looked at before
  // the first operator and after the last), and what the inner products find wrong with the platform; kUsage for a run
  // in the middle of another; what a stage or an observer says. What a stage or an observer throws goes on to the
  // caller, as after an error. Determinism class: that of the kernels and the stage; neither ctx nor the observer
  // reaches the bits.
  Expected<std::vector<Tensor>> run(const kernels::KernelContext& ctx, Feeds feeds, RunOptions options = {});

  // The same for a caller who keeps feeds and outputs from run to run, so that nothing is allocated. A feed's memory is
  // there again afterwards unless an output has it; its values may have been written over. An output is written to the
  // tensor that stands in its place already if that has its type and shape, lies on the host, and nobody holds it but
  // the places of outputs that are views of one another; a run node by node brings new ones. After an error every feed
  // and every place has its memory again; values may have been written over once all feeds had been found to fit.
  // REQUIRES one place for each graph output.
  Status run_into(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
                  RunOptions options = {});

  // Gives back what a run keeps for the next one of the same shapes, which then takes it again; but for what products
  // keep of constants (kernels/matmul/kept_panels.h).
  void release_memory();

  // What planning found wrong, which every run returns. Never an error for a graph whose inputs' shapes are known only
  // at run time: it is planned in the run.
  const Status& status() const { return unusable_; }

  // The memory of a run whose feeds nobody else holds: what MemoryUse will say, but for what operators that run graphs
  // need for these. kUnavailable where the sizes cannot even be counted; kUnreadable for a graph whose shapes are not
  // known before the run.
  Expected<uint64_t> planned_peak_bytes() const;

 private:
  using InputType = std::pair<DType, Shape>;
  Status prepare_before_runs();
  Status prepare(std::optional<graph::Graph> own);
  Status prepare_for(std::span<const Feed> feeds);
  const Tensor* constant_of(size_t input) const;
  Status check_stage(const RunOptions& options) const;
  Status run_alone(const kernels::KernelContext& ctx, std::span<Feed> feeds, std::span<Tensor> outputs,
                   const RunOptions& options);

  const graph::Graph& graph_;
  const KernelTable& table_;
  const std::unique_ptr<Ledger> own_ledger_;  // null: it is a part
  Ledger& ledger_;
  const std::vector<std::pair<size_t, Tensor>> constants_;
  const bool known_before_runs_;           // the types of all inputs
  Status unusable_;                        // what planning found wrong
  std::unique_ptr<PreparedRun> prepared_;  // where types are not known before runs: for those of the last one
  std::vector<InputType> types_;           // of its feeds
  std::unique_ptr<Holding> computed_;      // of a part: the constants that were computed for these
  std::atomic<int> running_ = 0;           // a word: not every machine exchanges a byte
};

}  // namespace isobit::runtime
