// One model on many platforms, into a lab.
//
// Each platform computes in a fresh process, first as it always does, then with its operators looked at (docs/lab.md).
// What a platform comes to is a run in the lab, also where it fails: no platform ends a sweep.
#pragma once

#include <atomic>
#include <functional>

#include "isobit/lab/deviation/lab_set.h"
#include "isobit/lab/inference.h"
#include "isobit/lab/measure/engines.h"

namespace isobit::lab::measure {

enum class Keep : uint8_t {
  kForks,  // outputs, values of which platforms made several, and the operands of operators that made these
  kAll,
  kNone,
};

struct SweepRequest {
  WorkerPlaces places;
  fs::path lab;                        // made where it is not there
  std::vector<std::string> platforms;  // by name; empty: all_targets
  int repeat = 1;                      // REQUIRES at least 1; processes for each platform, the first with operators
  Keep keep = Keep::kForks;
  uint64_t max_kept = 0;     // bytes of tensors in the lab, compressed
  double max_seconds = 600;  // of one worker
  uint64_t max_memory = UINT64_MAX;
  std::function<void(const std::string&)> progress = [](const std::string&) {};  // a line that the next one replaces
  std::function<void(const std::string&)> note = [](const std::string&) {};      // a line that stays
  const std::atomic<bool>* stop = nullptr;                                       // set: end workers and return
};

struct SweepReport {
  records::Subject subject;
  size_t platforms = 0;                       // that were to be measured and may be here
  size_t measured = 0;                        // processes of the first pass, failures included
  size_t again = 0;                           // of the second one, which computes what is kept
  size_t known = 0;                           // runs that a sweep measured into this lab before
  size_t others = 0;                          // runs that the lab had from elsewhere, and that are measured here, too
  std::vector<std::string> not_here;          // of all_targets: what this machine does not have
  uint64_t kept_tensors = 0, kept_bytes = 0;  // by this sweep; bytes before compression
  uint64_t left_out = 0;                      // tensors that max_kept had no room for
};

// Errors: those of open_model, targets_named and of the lab; kUnavailable when stopped: the lab then holds what was
// measured so far, and the same request goes on from there.
Expected<SweepReport> sweep(const InferenceRequest& model, const SweepRequest& request);

// Some steps of a job's training on each platform: loss, gradients and updates, step by step. Only platforms of our own
// train, so of Python engines kUsage. Errors: those of reading the job, and as above.
struct TrainingRequest {
  fs::path job;
  std::vector<std::string> overrides;  // of its fields: "schedule.warmup=0"
  int64_t steps = 1;                   // from the first one on
};
Expected<SweepReport> sweep(const TrainingRequest& training, const SweepRequest& request);

}  // namespace isobit::lab::measure
