// Training as a state machine: state(t+1) = step(state(t), batch(t), rate(t)). No files, no clock, no messages; whoever
// drives it (train, audit, resume) does those.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "isobit/backends/backend.h"
#include "isobit/data/batch.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/train/evaluation.h"
#include "isobit/train/job.h"
#include "isobit/train/step_graph.h"

namespace isobit::train {

struct StepResult {
  int64_t step = 0;                  // 1 for the first
  std::span<const int64_t> indices;  // of the batch's samples; until the next step
  float loss = 0;                    // of a float64 step: the nearest float32
  double lr = 0;
};

// What a step takes beside the state.
struct StepInputs {
  data::Batch batch;
  double lr = 0;
};

class Trainer {
 public:
  // The initial state of the job: step 0. Engine and backend are not owned. Trainers of several arithmetics may share
  // an engine, step by step. `backend` runs the steps and the evaluation; `network` is the job's. `recompute`: what of
  // a step is computed again rather than kept, which changes no bit; errors: runtime::check_recompute, and kUnreadable
  // for a network whose shapes follow from data.
  static Expected<std::unique_ptr<Trainer>> create(Job job, std::shared_ptr<const data::Dataset> dataset,
                                                   platform::Engine& engine,
                                                   backends::Backend& backend = backends::native(),
                                                   std::shared_ptr<const models::Network> network = models::built_in(),
                                                   runtime::Recompute recompute = runtime::Recompute::kNothing);

  const Job& job() const { return job_; }
  const data::Dataset& dataset() const { return *dataset_; }
  const StepGraph& step_graph() const { return graph_; }
  const platform::Context& context() const { return context_; }

  // Steps done so far.
  int64_t step() const { return step_; }
  // Parameters, optimizer state and buffers, in slot order; everything that the future depends on, but for the step.
  const std::vector<NamedTensor>& state() const { return state_; }
  // What no step changes, in the order of StepGraph::frozen.
  const std::vector<NamedTensor>& frozen() const { return frozen_; }
  runtime::Recompute recompute() const { return recompute_; }
  // Another number whenever state() or step() may have changed.
  uint64_t revision() const { return revision_; }

  // One step. REQUIRES step() < job().steps. After an error the trainer is unusable.
  // Determinism class: job().arithmetic.
  // options.stage: of arithmetic logged-1, the one that writes the log of this step or follows it; null rounds without
  // a log.
  Expected<StepResult> advance(runtime::RunOptions options = {});
  // What the next step takes: functions of job and step alone. Errors: those of data::train_batch.
  // REQUIRES step() < job().steps.
  Expected<StepInputs> inputs() const;
  // What the graph of the next step is fed on these, but for the state: its inputs, the target and the rates.
  runtime::Executor::Feeds feeds_of(const StepInputs& inputs) const;
  // advance() in two: one step on inputs().
  Expected<StepResult> advance(StepInputs inputs, runtime::RunOptions options);

  // Continues from a state that advance() once produced. Errors (kUnreadable): a name, type or shape that does not fit.
  Status restore(std::vector<NamedTensor> state, int64_t step);
  // The same tensor by tensor, in any order, without two states in memory: put() takes one over in place of the
  // trainer's own, and when all have come, go_on_from() makes it the state after `step`. Until then, and after an
  // error, which forgets what was put, state() is of no use. Errors as restore(); a tensor that is put twice is one.
  // wants() says beforehand, of a tensor that need not be there yet, what put() would: the slot that it belongs to.
  Expected<size_t> wants(const std::string& name, DType dtype, const Shape& shape) const;
  Status put(NamedTensor tensor);
  Status go_on_from(int64_t step);

  // Scores the state on the job's evaluation samples. Independent of how they are batched. What was trained in float64
  // is scored in float32 by correct-1, so that no log is needed for it.
  Expected<SampleScores> evaluate();

 private:
  Trainer(Job job, std::shared_ptr<const data::Dataset> dataset, platform::Engine& engine, backends::Backend& backend,
          platform::Context context, StepGraph graph);
  Status compile();
  Status check_step(int64_t step) const;
  Status check_fits(size_t slot, DType dtype, const Shape& shape) const;
  void stand_after(int64_t step);
  void prepare_feeds();
  void feed_batch();
  void put_rates(double lr, std::span<runtime::Executor::Feed> rates) const;
  void feed(double lr);
  void take_back();
  Expected<StepResult> step_on_batch(double lr, runtime::RunOptions options);

  Job job_;
  std::shared_ptr<const data::Dataset> dataset_;
  platform::Engine& engine_;
  backends::Backend& backend_;
  const platform::Context context_;
  StepGraph graph_;
  std::shared_ptr<const models::Network> network_;
  std::vector<NamedTensor> frozen_;
  graph::Graph bound_;                          // the graph with what is frozen as constants, where there is any
  std::unique_ptr<backends::Program> program_;  // of the graph
  runtime::Recompute recompute_ = runtime::Recompute::kNothing;
  data::BatchOptions batch_options_;
  std::vector<NamedTensor> state_;
  // Kept from step to step, so that none allocates.
  data::Batch batch_;
  runtime::Executor::Feeds feeds_;             // inputs, target, scalars, then the state in slot order
  size_t first_scalar_ = 0, first_state_ = 0;  // among the feeds
  std::vector<Tensor> outputs_;                // loss, then the state
  int64_t step_ = 0;
  uint64_t revision_ = 0;
  std::vector<bool> put_;  // by slot: whether put() has brought it; empty but between put() and go_on_from()
  double beta1_power_ = 1, beta2_power_ = 1;          // of step_
  std::unique_ptr<runtime::RoundingStage> rounding_;  // null when the arithmetic does not round
};

// The same tensors with float64 ones in float32: exactly, where their arithmetic rounds.
std::vector<NamedTensor> in_float32(const std::vector<NamedTensor>& state);

// Scores `state` (found by name, what is frozen among it) on the job's evaluation samples: the first evaluate.samples
// of the test split (0: all). The graph is the backend's to run, under the job's arithmetic, or under correct-1 where
// that computes in float64.
Expected<SampleScores> evaluate(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                                platform::Engine& engine, backends::Backend& backend = backends::native(),
                                const models::Network& network = *models::built_in());

}  // namespace isobit::train
