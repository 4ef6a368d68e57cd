#include "isobit/adversary/decorators.h"

#include <utility>

namespace isobit::adversary {
namespace {

// By way of a checkpoint that no file ever holds.
Status exchange_state(train::Trainer& trainer, const std::function<void(std::vector<NamedTensor>&)>& change) {
  std::vector<NamedTensor> state = trainer.state();
  for (NamedTensor& t : state) t.tensor = t.tensor.clone();
  change(state);
  return trainer.restore(std::move(state), trainer.step());
}

// Puts `more` behind what is there.
void append(log::StepLog& log, log::StepLog more) {
  if (auto* sparse = std::get_if<log::SparseLog>(&more)) {
    auto& nodes = std::get<log::SparseLog>(log).nodes;
    std::move(sparse->nodes.begin(), sparse->nodes.end(), std::back_inserter(nodes));
  } else {
    auto& from = std::get<log::OvtLog>(more).outputs;
    auto& to = std::get<log::OvtLog>(log).outputs;
    std::move(from.begin(), from.end(), std::back_inserter(to));
  }
}

// Lets another stage work, if there is one, and changes what comes out.
class ChangingStage final : public runtime::Stage {
 public:
  ChangingStage(runtime::Stage* honest, const ChangeOutputs& change) : honest_(honest), change_(change) {}
  void begin_run(const graph::Graph& graph) override {
    graph_ = &graph;
    if (honest_ != nullptr) honest_->begin_run(graph);
  }
  Status apply(size_t index, runtime::KernelCall& call) override {
    if (honest_ != nullptr) ISOBIT_RETURN_IF_ERROR(honest_->apply(index, call));
    change_(*graph_, index, call);
    return {};
  }
  Status apply_again(size_t index, runtime::KernelCall& call) override {
    if (honest_ != nullptr) ISOBIT_RETURN_IF_ERROR(honest_->apply_again(index, call));
    change_(*graph_, index, call);
    return {};
  }

 private:
  runtime::Stage* honest_;
  const ChangeOutputs& change_;
  const graph::Graph* graph_ = nullptr;
};

}  // namespace

run::StepFunction with_inputs(int64_t step, std::function<void(train::StepInputs&)> change, run::StepFunction honest) {
  return [=](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    if (trainer.step() + 1 != step) return honest(trainer, options);
    ISOBIT_TRY(train::StepInputs inputs, trainer.inputs());
    const double rate = inputs.lr;
    change(inputs);
    ISOBIT_TRY(train::StepResult result, trainer.advance(std::move(inputs), options));
    result.lr = rate;
    return result;
  };
}

run::StepFunction with_state(int64_t step, std::function<void(std::vector<NamedTensor>&)> change,
                             run::StepFunction honest) {
  return [=](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    ISOBIT_TRY(train::StepResult result, honest(trainer, options));
    if (trainer.step() == step) ISOBIT_RETURN_IF_ERROR(exchange_state(trainer, change));
    return result;
  };
}

run::StepFunction with_outputs(int64_t step, ChangeOutputs change, run::StepFunction honest) {
  return [=](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    if (trainer.step() + 1 != step) return honest(trainer, options);
    ChangingStage stage(options.stage, change);
    options.stage = &stage;
    return honest(trainer, options);
  };
}

run::StepFunction with_state_kept(int64_t step, std::function<bool(const std::string&)> stays,
                                  run::StepFunction honest) {
  return [=](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    if (trainer.step() + 1 != step) return honest(trainer, options);
    std::vector<NamedTensor> before;
    for (const NamedTensor& t : trainer.state()) before.push_back({t.name, t.tensor.clone()});
    ISOBIT_TRY(train::StepResult result, honest(trainer, options));
    ISOBIT_RETURN_IF_ERROR(exchange_state(trainer, [&](std::vector<NamedTensor>& state) {
      for (size_t i = 0; i < state.size(); ++i) {
        if (stays(state[i].name)) state[i].tensor = before[i].tensor;
      }
    }));
    return result;
  };
}

run::EvaluateFunction with_last_state(std::function<void(std::vector<NamedTensor>&)> change,
                                      run::EvaluateFunction honest) {
  return [=](train::Trainer& trainer) -> Expected<train::SampleScores> {
    ISOBIT_RETURN_IF_ERROR(exchange_state(trainer, change));
    return honest(trainer);
  };
}

run::EvaluateFunction with_scores(std::function<void(train::SampleScores&)> change, run::EvaluateFunction honest) {
  return [=](train::Trainer& trainer) -> Expected<train::SampleScores> {
    ISOBIT_TRY(train::SampleScores scores, honest(trainer));
    change(scores);
    return scores;
  };
}

run::StepFunction with_other_inputs(std::function<bool(int64_t step)> at, OtherInputs others,
                                    run::StepFunction honest) {
  return [=](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    if (!at(trainer.step() + 1)) return honest(trainer, options);
    ISOBIT_TRY(train::StepInputs inputs, others(trainer));
    return trainer.advance(std::move(inputs), options);
  };
}

Expected<train::StepInputs> inputs_of_step(train::Trainer& trainer, int64_t step) {
  const int64_t stands_at = trainer.step();
  const auto stand_at = [&](int64_t at) { return trainer.restore(trainer.state(), at); };
  ISOBIT_RETURN_IF_ERROR(stand_at(step - 1));
  ISOBIT_TRY(train::StepInputs inputs, trainer.inputs());
  ISOBIT_RETURN_IF_ERROR(stand_at(stands_at));
  return inputs;
}

void ForgingRecorder::begin_step(uint64_t step) {
  step_ = step;
  honest_->begin_step(step);
  log_ = honest_->take_log();  // empty, of the right kind
}

Status ForgingRecorder::apply(size_t index, runtime::KernelCall& call) {
  ISOBIT_RETURN_IF_ERROR(honest_->apply(index, call));
  log::StepLog of_node = honest_->take_log();
  forge_(step_, index, call, of_node);
  append(log_, std::move(of_node));
  return {};
}

log::StepLog ForgingRecorder::take_log() { return std::exchange(log_, honest_->take_log()); }

runtime::Stage& LyingStepLogWriter::begin(uint64_t step) {
  step_ = step;
  return honest_->begin(step);
}

Expected<run::WrittenSegment> LyingStepLogWriter::end() {
  ISOBIT_TRY(run::WrittenSegment written, honest_->end());
  if (change_) ISOBIT_RETURN_IF_ERROR(change_(step_, written.bytes));
  if (const auto stored = honest_->root_of(step_, written.bytes)) written.root = *stored;
  claimed_[step_] = written.root;
  return written;
}

Expected<commit::Digest> LyingStepLogWriter::root_of(uint64_t step, ByteView segment) const {
  const auto claim = claimed_.find(step);
  if (claim != claimed_.end()) return claim->second;
  return honest_->root_of(step, segment);
}

}  // namespace isobit::adversary
