// Where the time of training steps goes: an observer with a clock.
//
// The kernels of a node take what passes from the end of the node before it to the call of before_stage, a stage what
// passes from there to after_stage. A view takes nothing, and counts to the next node. What a node takes that runs
// again is no node's, and summed up.
#pragma once

#include <string>
#include <vector>

#include "isobit/lab/kernel_name.h"
#include "isobit/lab/profile/steps_observer.h"
#include "isobit/lab/profile/work.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/executor.h"

namespace isobit::lab::profile {

// Of one node of the step graph, a step on average.
struct NodeTime {
  size_t index = 0;         // in the graph
  std::string op, name;     // operator (graph::short_name; "A+B" of nodes at once), and first output, of the last one
  std::string kernel;       // what computes it: "isobit avx512", "openblas@haswell", "winograd4"
  bool is_product = false;  // an inner product
  Work work;
  double seconds = 0;        // its kernel
  double stage_seconds = 0;  // rounding, and the log of it
};

// Seconds of a step on average, and where they go.
struct Profile {
  int64_t steps = 0;  // that it is the average of
  double step = 0;    // all that follows but `between`
  double batch = 0;   // making the batch, and feeding it
  double kernels = 0;
  double stages = 0;
  double again = 0;             // kernels and stages of nodes that ran again (runtime::Recomputation)
  double rest = 0;              // handing out what the step made
  double between = 0;           // from one step to the next: commitments, heads, files, scores
  std::vector<NodeTime> nodes;  // in the order of execution, views left out
};

// What happened when, in seconds of the clock.
struct Span {
  enum class Kind : uint8_t { kStep, kBatch, kKernel, kStage };
  Kind kind = Kind::kStep;
  int64_t step = 0;
  size_t node = 0;  // place among Profile::nodes, of kKernel and kStage
  double begin = 0, end = 0;
};

class Profiler final : public StepsObserver {
 public:
  // At most `most_spans` are kept, of the first steps; the average is over all steps but the first, which makes what
  // later ones find made, unless there is no other.
  Profiler(const platform::Platform& platform, platform::Clock clock, size_t most_spans = 0);

  void begin_step(int64_t step) override;
  void end_step() override;

  bool wants_values() const override { return false; }
  bool wants_constants() const override { return false; }  // an unwatched run does not make them again either
  void begin_run(const graph::Graph& graph) override;
  Status before_stage(const runtime::NodeRun& run) override;
  Status after_stage(const runtime::NodeRun& run) override;
  void ran_again(size_t index) override;

  Profile profile() const;
  const std::vector<Span>& spans() const { return spans_; }

 private:
  struct Sums {
    double step = 0, batch = 0, between = 0, again = 0;
    std::vector<double> kernels, stages;  // by node
    int64_t steps = 0;
  };
  void keep(Span::Kind kind, size_t node, double begin, double end);

  const KernelNames names_;
  const platform::Clock clock_;
  const size_t most_spans_;
  std::vector<NodeTime> nodes_;
  std::vector<int64_t> place_;  // by node of the graph: in nodes_, -1 before it was seen
  std::vector<Span> spans_;
  Sums sums_;
  int64_t step_ = 0, seen_ = 0;
  double begin_ = 0, batch_end_ = 0, last_ = 0, end_ = 0;
};

}  // namespace isobit::lab::profile
