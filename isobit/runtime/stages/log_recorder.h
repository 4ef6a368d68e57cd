// Who writes the log of a training step: one interface, a recorder for each kind of log behind it.
#pragma once

#include <memory>

#include "isobit/log/counts.h"
#include "isobit/log/step_log.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/runtime/stages/self_check.h"

namespace isobit::runtime {

// Of a trainer: the stage of one step at a time. A platform beyond the job's bound ends the step with an error of code
// kUnavailable.
class LogRecorder : public Stage {
 public:
  // Before each step (1 for the first). Starts an empty log.
  virtual void begin_step(uint64_t step) = 0;
  // What has been written since begin_step() or the last call, without a copy; none of it is left. Nodes come in the
  // order of the graph, so that the logs of successive calls, one after another, are the log of the step.
  virtual log::StepLog take_log() = 0;
  // Of all steps.
  virtual const log::CountsByOperator& counts() const = 0;
};

// The one for rules.log.
std::unique_ptr<LogRecorder> make_recorder(const RoundingRules& rules, SelfCheck self_check = SelfCheck::kYes);

}  // namespace isobit::runtime
