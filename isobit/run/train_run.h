// Trains a job into a run bundle: the one training loop there is around train::Trainer.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/run/conduct.h"
#include "isobit/run/job_root.h"
#include "isobit/run/metrics_file.h"
#include "isobit/run/step_logs.h"
#include "isobit/runtime/executor.h"
#include "isobit/train/trainer.h"
#include "isobit/verify/engagement.h"

namespace isobit::run {

struct TrainProgress {
  int64_t step = 0;
  int64_t steps = 0;
  int64_t first_step = 0;  // where this process began
  float loss = 0;
  double lr = 0;
  std::optional<Scores> scores;  // where the job asks for them after this step (evaluate.every); not after the last one
};

struct TrainRequest {
  fs::path out;
  train::Job job;                      // ignored by resume_run, which takes the run's own
  std::vector<std::string> overrides;  // resume_run: of data paths
  platform::Platform platform;
  Limits limits;
  std::optional<commit::SecretKey> trainer;  // REQUIRES set: signs the run
  // A new run's: the engagement that the trainer accepted; without one the client's key signs one for this run alone.
  std::optional<verify::Engagement> engagement;
  std::optional<commit::SecretKey> client;
  fs::path home;       // of the registers; empty: nothing is looked up or noted down
  bool moved = false;  // resume_run: the run lies elsewhere than where the register has it, and nowhere else
  Conduct conduct;
  fs::path metrics;                                    // a line is written to this file for each step; empty: none is
  std::function<void(const TrainProgress&)> progress;  // after each step
  std::function<double()> seconds;                     // a clock, for the facts of the manifest
  const std::atomic<bool>* stop = nullptr;             // set: stop after the current step, resumable
};

struct TrainSummary {
  bool finished = false;  // false: stopped early; resume continues
  int64_t step = 0;
  int64_t steps = 0;
  int64_t first_step = 0;  // done before this process began
  commit::Digest final_state_root{};
  commit::Digest transcript_root{};
  commit::Digest job_root{};
  float final_loss = 0;
  verify::Evaluation evaluation;
  std::string platform;
  platform::Repairs repairs;  // of arithmetic correct-1
  // Of arithmetic logged-1, for the steps of this process that were new.
  log::CountsByOperator log_counts;
  uint64_t log_bytes = 0;
  uint64_t logged_steps = 0;
  std::vector<std::string> notes;  // what the job's arithmetic leaves open, as an audit's verdict says it
  double step_seconds = 0;         // in the steps alone, without commitments and files; 0 without a clock
  uint64_t step_bytes = 0;         // the most that the values of a step took at once, state included
};

// A new run in request.out (absent or empty). What is published names no path of this machine; where the data lie is
// noted in the trainer's register, for resuming and auditing. kUnreadable unless the job's length is in steps
// (job_file.h). Errors: as check_trainable, BundleWriter::create, open_session, note_begun, MetricsFile::begin and
// Trainer::advance.
Expected<TrainSummary> train_run(const TrainRequest& request);
// The same on an engine of the caller's, whose platform takes the place of request.platform.
Expected<TrainSummary> train_run(const TrainRequest& request, platform::Engine& engine);

// Continues an unfinished run from its newest usable checkpoint; a step whose leaf is already there is computed again
// and must agree; so is its line of metrics written again (MetricsFile::go_on). kUsage when the run is finished, or
// when the register has it in another folder: two copies of a run that both go on sign two histories, which is evidence
// against their trainer. request.moved notes the new folder instead, unless the run is still in the other one, too.
Expected<TrainSummary> resume_run(const TrainRequest& request);

}  // namespace isobit::run
