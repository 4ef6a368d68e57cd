// What computes a run, as values: whoever trains honestly takes them as they are.
#pragma once

#include <functional>
#include <memory>

#include "isobit/run/step_logs.h"
#include "isobit/runtime/executor.h"
#include "isobit/train/trainer.h"

namespace isobit::run {

// The next step of a trainer. options.stage: of a logged job, the one that records or follows the step's log; else
// null.
using StepFunction = std::function<Expected<train::StepResult>(train::Trainer& trainer, runtime::RunOptions options)>;
// The scores of a trainer's state: of the final one, which are committed, and of those that the job asks for between.
using EvaluateFunction = std::function<Expected<train::SampleScores>(train::Trainer& trainer)>;
using LogWriterFactory =
    std::function<std::unique_ptr<StepLogWriter>(const train::Job& job, const train::StepGraph& graph)>;

Expected<train::StepResult> take_step(train::Trainer& trainer, runtime::RunOptions options);
Expected<train::SampleScores> score(train::Trainer& trainer);

// What a run begins with, at step 0: nothing is changed where the job says it.
using BeginFunction = std::function<Status(train::Trainer& trainer)>;

// What computes a run; the loop calls these and writes down what they give. To watch, measure or end a training, wrap
// one of these functions in another.
struct Conduct {
  // Called once, before the first leaf commits to the state.
  BeginFunction begin = [](train::Trainer&) { return Status(); };
  StepFunction step = take_step;
  EvaluateFunction evaluate = [](train::Trainer& trainer) { return score(trainer); };
  // Called once, for a logged job.
  LogWriterFactory log_writer = [](const train::Job& job, const train::StepGraph& graph) {
    return make_step_log_writer(job, graph);
  };
};

}  // namespace isobit::run
