// Some steps of a job's training on one of our platforms, every operator of every step recorded.
#pragma once

#include "isobit/lab/measure/protocol.h"
#include "isobit/lab/measure/watched_files.h"
#include "isobit/platform/platform.h"
#include "isobit/run/job_size.h"

namespace isobit::lab::measure {

// A Trainer of native_worker.h: the runs that the request asks for, each from the job's initial state. Outputs: the
// loss of each step (where the job computes in float32) and the state after the last one. With operators there is also
// what every node of each step's graph made, gradients and updates among it. The platform's record is left to the
// caller, which is told the job's arithmetic. What goes wrong is the answer: reading the job, more steps than it has,
// an arithmetic that the platform does not have, training.
WorkerAnswer training_answer(const WorkerRequest& request, platform::Engine& engine, const fs::path& folder,
                             std::string& arithmetic);

struct MeasuredTraining {
  records::Subject subject;  // told from another by the job's root and that of its data (docs/formats/job.md)
  std::vector<records::GraphNode> nodes;  // of the graph of a step, in its order
  WatchedFiles files;                     // the job; of its data an answer tells
};
// Errors: those of reading job and data; kUsage for more steps than the job has.
Expected<MeasuredTraining> open_training(const fs::path& job, const std::vector<std::string>& overrides, int64_t steps,
                                         const run::Limits& limits);

}  // namespace isobit::lab::measure
