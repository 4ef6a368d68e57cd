// Dishonest rounding logs, for cheats() of cheat.h: trainings of logged-1 jobs that are complete and validly signed.
#pragma once

#include "isobit/adversary/cheat.h"
#include "isobit/adversary/decorators.h"
#include "isobit/train/job.h"

namespace isobit::adversary {

// The training ends with kUsage when the step gives one of these nothing to do: no value lies near enough to a rounding
// boundary, or the log it would put in place of its own is the same.
const std::vector<Cheat>& log_cheats();

// What is false in the log of a run. The parts of an honest one are empty.
struct LogFalsehood {
  ForgingRecorder::Forge forge;
  LyingStepLogWriter::Change change;
  runtime::SelfCheck self_check = runtime::SelfCheck::kYes;  // kNo: goes on beyond the job's bound, never looks
};
// REQUIRES a request that keeps the log of its run as an honest one does.
void falsify_log(run::TrainRequest& request, LogFalsehood falsehood);

// kUsage for a job without the log that the cheat needs.
Status check_log(const Cheat& cheat, const train::Job& job);

}  // namespace isobit::adversary
