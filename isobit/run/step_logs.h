// The two sides of a logged run: the trainer's, whose stage makes the log of each step, and the auditor's, whose stage
// follows it. A trainer that repeats steps of its own after a kill is on the auditor's side until it is past them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "isobit/commit/hash.h"
#include "isobit/log/step_log.h"
#include "isobit/runtime/stages/log_follower.h"
#include "isobit/runtime/stages/log_recorder.h"
#include "isobit/train/job.h"
#include "isobit/train/step_graph.h"

namespace isobit::run {

runtime::RoundingRules rounding_rules(const train::Job& job);

// What a dishonest trainer does to the log of a step; empty functions for an honest one.
struct LogTamper {
  // An inner product has been rounded and these are its entries: may change outputs and entries (positions stay
  // strictly ascending). Of sparse logs only.
  std::function<void(uint64_t step, runtime::KernelCall& call, std::vector<log::SparseEntry>& entries)> product;
  // Of ovt logs: an output has been rounded and these are its decisions; may change either.
  std::function<void(uint64_t step, runtime::KernelCall& call, int output, std::vector<uint8_t>& decisions)> decisions;
  // The segment of a step, before it is stored; the leaf commits to the entries that it then has, if it still has any.
  // An error ends the training.
  std::function<Status(uint64_t step, Bytes& segment)> segment;
  // Goes on with a platform that is beyond the job's bound: never looks.
  bool unchecked = false;
};

// REQUIRES a job whose arithmetic logs.
class LogWriter {
 public:
  explicit LogWriter(const train::Job& job, LogTamper tamper = {});
  // For the step about to be computed (1 for the first).
  runtime::Stage& begin(uint64_t step);
  // The segment of the step that was computed. An honest writer gives no error.
  Expected<Bytes> segment();
  // Of what segment() gave, before anybody changed its bytes: what the leaf commits to.
  const commit::Digest& root() const { return root_; }
  const log::CountsByOperator& counts() const { return recorder_->counts(); }
  uint64_t bytes() const { return bytes_; }  // of all segments so far

 private:
  std::unique_ptr<runtime::LogRecorder> recorder_;
  LogTamper tamper_;
  uint64_t step_ = 0;
  uint64_t bytes_ = 0;
  commit::Digest root_{};
};

class LogReader {
 public:
  LogReader(const train::Job& job, const train::StepGraph& graph);
  // leaf: what the step's leaf commits to (verify/log_tree.h). agreed: whether the state before the step is known to be
  // the trainer's (LogFollower::begin_step). kRejected, kUnreadable: the bytes are no log of this step
  // (verify/log_segment.h), or one of other entries than the leaf's; fault() is set. kUnavailable: no memory for it.
  Expected<runtime::Stage*> begin(uint64_t step, ByteView segment, const std::optional<commit::Digest>& leaf,
                                  bool agreed);
  // Of a segment, for its leaf. Errors as begin().
  Expected<commit::Digest> root_of(uint64_t step, ByteView segment) const;
  // After the step: whether the whole log was used.
  Status end();
  const log::CountsByOperator& counts() const { return follower_->counts(); }  // of all steps
  // Set when the log could not be followed, or this platform is beyond the job's bound.
  const std::optional<log::Fault>& fault() const { return fault_; }
  // Looks whether the stage ended the step for the log's sake.
  void note_fault() { fault_ = follower_->fault(); }

 private:
  log::Kind kind_;
  std::unique_ptr<runtime::LogFollower> follower_;
  std::vector<log::LoggedOutput> schema_;
  std::optional<log::Fault> fault_;
};

// Whether the job takes the published scheme's log as it is, and what is said of its runs then.
bool leaves_log_unchecked(const train::Job& job);
inline constexpr const char* kUncheckedLog =
    "no guarantee: with rounding.distance = false the log's decisions on inner products are taken unchecked";

}  // namespace isobit::run
