// What a job costs here, measured on a few of its steps before anybody commits to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isobit/data/data_shape.h"
#include "isobit/platform/platform.h"
#include "isobit/run/job_size.h"
#include "isobit/train/job.h"

namespace isobit::run {

struct Price {
  JobSize size;                   // from the shapes alone
  double seconds_per_step = 0;    // its log, if any, included
  double seconds_per_commit = 0;  // one state root
  double seconds = 0;             // all steps and commits
  uint64_t memory_bytes = 0;      // peak of one step's values, state included, and the dataset
  uint64_t state_bytes = 0;
  // Of a job that logs: the log of one step on disk, the median of those run.
  std::optional<uint64_t> log_bytes_per_step;
  uint64_t disk_bytes = 0;  // checkpoints kept, transcript, heads and log
  int64_t parameters = 0;
  data::DataShape data;               // as it was found
  int64_t nodes = 0;                  // operators of a step
  bool disputable = true;             // StepGraph::disputable
  std::vector<std::string> remarks;   // StepGraph::remarks
  int64_t proposed_commit_every = 1;  // smallest interval that keeps state roots within 2 % of training
};

// Runs a few steps of the job. `seconds` is a clock. Errors: as open_session.
Expected<Price> price_job(const train::Job& job, const platform::Platform& platform, const Limits& limits,
                          const std::function<double()>& seconds);

}  // namespace isobit::run
