// What each arithmetic costs for one job and one pair of platforms, side by side.
//
// Every training run and every audit is done in a child process: a vendor's library keeps its core type for as long as
// the process lives. The runs are interleaved over several rounds, and what is reported is the median of the rounds as
// a ratio to that of float64 on the same platform, so that the pace of the machine cancels.
//
// A platform of one thread is timed by the processor time of its process, one of several by the clock on the wall.
// Only steps are timed (batch, operators, rounding, log), no commitments and no files.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/platform/platform.h"
#include "isobit/train/job.h"

namespace isobit::lab {

// "float32", "float64", "rounded", "ovt", "sparse", "correct", "ordered": ovt and sparse are logged-1 with that log.
const std::vector<std::string>& cost_names();

// The job as it is trained under one of these names. The rounding rules that the name has a use for are kept.
train::Job cost_job(const train::Job& job, const std::string& name);

struct CostsRequest {
  train::Job job;  // its arithmetic and its commit and checkpoint intervals are not used
  // Under `ordered` both are replaced by `ordered` with as many threads.
  platform::Platform trainer, auditor;
  std::vector<std::string> only;                            // of cost_names(); empty: all. float64 is always measured
  int rounds = 3;                                           // REQUIRES >= 1
  fs::path folder;                                          // for the runs; exists, empty; the caller removes it
  std::function<double()> wall_seconds, processor_seconds;  // the latter of the calling process
  std::function<void(const std::string&)> progress;         // what is being done
  const std::atomic<bool>* stop = nullptr;                  // set: give up before the next run
};

struct CostSide {
  std::string platform;
  double seconds_per_step = 0;  // median of the rounds
  double ratio = 0;             // to float64 on this side
};

struct Cost {
  std::string name;
  CostSide trainer, auditor;
  // Of the two logs, per step. Corrections are the auditor's.
  std::optional<double> log_bytes, near_ties, corrections;
  std::optional<double> repairs;  // of correct, per step: sums evaluated again
  // The share of the outputs that a forged log, or none, could move without the audit noticing; none where nothing is
  // audited. Of ovt, whatever rounding.distance is: the share under the scheme as published, which checks no decision.
  std::optional<double> forgeable;
  uint64_t findings = 0;  // of the audit of either log
  // The first step after which the two platforms' weights differ; none: they agree to the end. Where audits say so
  // (ovt, sparse, correct, ordered) it is never there.
  std::optional<uint64_t> first_difference;
  uint64_t test_rows = 0, test_top1 = 0;  // of the trainer's last weights
  std::vector<std::string> misses;        // which of its targets: "trainer", "auditor", "log_bytes"
};

struct Costs {
  uint64_t steps = 0;
  std::vector<Cost> rows;  // in the order of cost_names()
};

// Targets of the sparse log: at most this much of float64 on either side, and of ovt's bytes.
inline constexpr double kMostTime = 1.05;
inline constexpr double kMostBytes = 1e-3;

// REQUIRES a process without threads that has opened no vendor's library. A child is ended by SIGINT and SIGTERM, as
// Ctrl-C sends them to all of them, whatever this process does with them.
// Errors: those of run::train_run and run::audit_run, with the name in front; kRejected when an audit of an honest run
// fails, kUsage for an unknown name, kUnavailable when stopped.
Expected<Costs> measure_costs(const CostsRequest& request);

}  // namespace isobit::lab
