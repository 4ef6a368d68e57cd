// Dishonest trainers, to try auditors with: each does one thing that the job does not say and signs the result.
#pragma once

#include <string>
#include <vector>

#include "isobit/run/train_run.h"

namespace isobit::adversary {

struct Cheat {
  std::string name;
  std::string what;       // one line for people
  bool of_a_log = false;  // needs a job of arithmetic logged-1
};

const std::vector<Cheat>& cheats();

// Makes `request` dishonest at `step`. kUsage for an unknown name (with the nearest) or a step outside the job.
Status apply_cheat(const std::string& name, int64_t step, run::TrainRequest& request);

}  // namespace isobit::adversary
