// Parts of a sweep.
#pragma once

#include "isobit/lab/measure/sweep.h"

namespace isobit::lab::measure {

// A process that is to be run, and what it came to.
struct Task {
  Target target;
  uint32_t repeat = 0;
  WorkerRequest request;
  fs::path folder;  // its own, once it runs
  Expected<WorkerAnswer> answer = unavailable("it has not been run");
};

struct SweepState {
  const SweepRequest& request;
  const Workers& workers;
  records::LabFile& lab;
  SweepReport& report;
  size_t folders = 0;
  bool stopped() const { return request.stop != nullptr && request.stop->load(); }
};

// Runs each task in a process of its own, as many at a time as this machine has cores for, and takes them in order.
// What a task leaves in its folder is removed once it was taken. `what` starts the lines of progress. kUnavailable when
// the sweep is stopped.
Status run_tasks(SweepState& state, std::vector<Task>& tasks, const std::string& what,
                 const std::function<Status(Task&)>& take);

// Whether a record is of this target on this machine, in the environment that workers have now.
bool is_of(const Target& target, const records::PlatformRecord& platform, const std::string& environment);

// The second pass: tensors whose hashes are known, each from the first platform here that made it (keeping.cpp).
Status keep_tensors(SweepState& state, const std::vector<Target>& targets, const WorkerRequest& request,
                    const std::vector<records::GraphNode>& nodes);

}  // namespace isobit::lab::measure
