// Operators of a training that forked, run again alone: a training is repeated on one platform up to the step where the
// records first differ, and what those operators were given then is given to every platform.
#pragma once

#include "isobit/lab/explain/operator_call.h"
#include "isobit/lab/explain/replay.h"

namespace isobit::lab::explain {

struct TrainingReplayRequest {
  fs::path job;
  std::vector<std::string> overrides;
  uint64_t max_memory = UINT64_MAX;
  size_t most_forks = 16;                       // the first ones
  uint64_t most_bytes = uint64_t{1} << 30;      // of their operands
  std::map<std::string, OwnPlatform> own = {};  // as of ReplayRequest; their arithmetic is the job's
};

struct TrainingReplays {
  Replays replays;                  // of forks that the records say are introduced, at the first step that has any
  std::vector<OperatorCall> calls;  // of each, with what the reference had; without a node where it could not be run
};

// kUsage where the job is not the one that was measured. Errors: as run::open_session and train::Trainer.
Expected<TrainingReplays> replay_training(const Explanation& explanation, const TrainingReplayRequest& request);

}  // namespace isobit::lab::explain
