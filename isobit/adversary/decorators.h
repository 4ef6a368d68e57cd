// Dishonest trainers are honest ones in a wrapper: each of these takes a part of run::Conduct, lets it work, and
// changes what goes in or comes out. Honest code knows nothing of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "isobit/commit/hash.h"
#include "isobit/log/step_log.h"
#include "isobit/run/train_run.h"
#include "isobit/train/trainer.h"

namespace isobit::adversary {

// At that step computes with other inputs than the job's. The rate that is reported stays the job's.
run::StepFunction with_inputs(int64_t step, std::function<void(train::StepInputs&)> change, run::StepFunction honest);

// After that step goes on from another state.
run::StepFunction with_state(int64_t step, std::function<void(std::vector<NamedTensor>&)> change,
                             run::StepFunction honest);

// At that step changes what a node of the step's graph has made, once it has been made and rounded. Views cannot be
// changed. index: of the node in the graph.
using ChangeOutputs = std::function<void(const graph::Graph& graph, size_t index, runtime::KernelCall& call)>;
run::StepFunction with_outputs(int64_t step, ChangeOutputs change, run::StepFunction honest);

// At that step computes as the job says and then goes on from the state before it, in all of its tensors or in those
// that `stays` names.
run::StepFunction with_state_kept(int64_t step, std::function<bool(const std::string&)> stays,
                                  run::StepFunction honest);

// Exchanges the state after the last step, before it is scored and handed out.
run::EvaluateFunction with_last_state(std::function<void(std::vector<NamedTensor>&)> change,
                                      run::EvaluateFunction honest);

// Exchanges what the samples score, before it is committed to.
run::EvaluateFunction with_scores(std::function<void(train::SampleScores&)> change, run::EvaluateFunction honest);

// At the steps for which `at` holds computes on what `others` gives, and reports the samples that it says.
using OtherInputs = std::function<Expected<train::StepInputs>(train::Trainer& trainer)>;
run::StepFunction with_other_inputs(std::function<bool(int64_t step)> at, OtherInputs others, run::StepFunction honest);

// Takes the inputs of another step of the trainer's own job, or of a trainer of another one, from which nothing but the
// step is needed.
Expected<train::StepInputs> inputs_of_step(train::Trainer& trainer, int64_t step);

// An honest recorder of which a forger may change the outputs and entries of every node afterwards.
class ForgingRecorder final : public runtime::LogRecorder {
 public:
  // The node has been rounded and `log` is what was written of it, in order: may change outputs and log.
  using Forge = std::function<void(uint64_t step, size_t node, runtime::KernelCall& call, log::StepLog& log)>;
  ForgingRecorder(std::unique_ptr<runtime::LogRecorder> honest, Forge forge)
      : honest_(std::move(honest)), forge_(std::move(forge)) {}

  void begin_run(const graph::Graph& graph) override { honest_->begin_run(graph); }
  void begin_step(uint64_t step) override;
  Status apply(size_t index, runtime::KernelCall& call) override;
  // Forged is what a log decides, and that is decided once.
  Status apply_again(size_t index, runtime::KernelCall& call) override { return honest_->apply_again(index, call); }
  log::StepLog take_log() override;
  const log::CountsByOperator& counts() const override { return honest_->counts(); }

 private:
  std::unique_ptr<runtime::LogRecorder> honest_;
  Forge forge_;
  uint64_t step_ = 0;
  log::StepLog log_;
};

// Stores other bytes than were written, and commits to the entries that they then have, if they have any; stands by
// what it claimed whatever the bytes are.
class LyingStepLogWriter final : public run::StepLogWriter {
 public:
  // The segment of a step, before it is stored. An error ends the training.
  using Change = std::function<Status(uint64_t step, Bytes& segment)>;
  LyingStepLogWriter(std::unique_ptr<run::StepLogWriter> honest, Change change)
      : honest_(std::move(honest)), change_(std::move(change)) {}

  runtime::Stage& begin(uint64_t step) override;
  Expected<run::WrittenSegment> end() override;
  Expected<commit::Digest> root_of(uint64_t step, ByteView segment) const override;
  const log::CountsByOperator& counts() const override { return honest_->counts(); }

 private:
  std::unique_ptr<run::StepLogWriter> honest_;
  Change change_;
  uint64_t step_ = 0;
  std::map<uint64_t, commit::Digest> claimed_;  // by step
};

}  // namespace isobit::adversary
