// Dishonest trainers, to try auditors with: each does one thing that the job does not say and signs the result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isobit/run/train_run.h"

namespace isobit::adversary {

// The rounding log that a job must keep for a cheat: kAny for either. Jobs of arithmetic logged-1 keep one.
enum class LogNeeded { kNone, kAny, kSparse, kOvt };

struct Cheat {
  // Makes `request` dishonest at `step`. REQUIRES a step of the job, and the log that the cheat needs. kUsage for a job
  // or a step that the cheat cannot be done in, as far as that is known before the training; the message does not name
  // the cheat.
  using Apply = std::function<Status(run::TrainRequest& request, int64_t step)>;

  std::string name;
  std::string what;  // one line for people
  Apply apply;
  LogNeeded log = LogNeeded::kNone;

  bool of_a_log() const { return log != LogNeeded::kNone; }
};

const std::vector<Cheat>& cheats();

// Makes `request` dishonest at `step`. kUsage for an unknown name (with the nearest), a step outside the job, a job
// without the log that the cheat needs, and as Cheat::Apply.
Status apply_cheat(const std::string& name, int64_t step, run::TrainRequest& request);

}  // namespace isobit::adversary
