// Parts of a sweep.
#pragma once

#include "isobit/lab/measure/libraries.h"
#include "isobit/lab/measure/sweep.h"
#include "isobit/lab/measure/watched_files.h"

namespace isobit::lab::measure {

// A process that is to be run, and what it came to.
struct Task {
  Target target;
  uint32_t repeat = 0;
  WorkerRequest request;
  fs::path folder;  // its own, once it runs
  Expected<WorkerAnswer> answer = unavailable("it has not been run");
};

// What is run everywhere.
struct Measured {
  records::Subject subject;
  std::vector<records::GraphNode> nodes;  // none: of the subject there is no graph
  std::vector<std::string> outputs;       // of the model; empty: of a training
  WatchedFiles files;                     // that workers read
  WatchedFiles inputs = {};               // those that the sweep wrote for them, and no worker may write to
};

struct SweepState {
  const SweepRequest& request;
  const Measured& measured;
  const Workers& workers;
  records::LabFile& lab;
  SweepReport& report;
  Libraries libraries = {};
  size_t folders = 0;
  bool stopped() const { return request.stop != nullptr && request.stop->load(); }
};

// Runs each task in a process of its own, as many at a time as this machine has cores for, and takes them in order.
// What a task leaves in its folder is removed once it was taken. `what` starts the lines of progress. An answer that is
// none to its request is an error of its task. kUnavailable when the sweep is stopped; kUnreadable, and nothing taken
// from then on, when what is measured is not what it was.
Status run_tasks(SweepState& state, std::vector<Task>& tasks, const std::string& what,
                 const std::function<Status(Task&)>& take);

// What sweeps measured into this lab. Of other records (merged, imported, of an older version) nobody knows whose they
// are, whatever platform they name: `others` gets them.
Expected<std::vector<records::RunRecord>> own_runs(SweepState& state,
                                                   std::vector<records::RunRecord>* others = nullptr);

// Whether a record is of this target on this machine, as it is now: docs/lab.md says what is compared.
bool is_of(SweepState& state, const Target& target, const records::PlatformRecord& platform);

// The second pass: tensors whose hashes are known, each from the first platform here that made it (keeping.cpp).
Status keep_tensors(SweepState& state, const std::vector<Target>& targets, const WorkerRequest& request,
                    const std::vector<records::GraphNode>& nodes);

}  // namespace isobit::lab::measure
