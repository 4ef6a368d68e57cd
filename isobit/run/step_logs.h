// The two sides of a logged run's file of logs: the trainer's, where each step's log becomes a segment, and the
// auditor's, where segments are followed. A trainer that repeats steps of its own after a kill is on the auditor's side
// until it is past them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/commit/hash.h"
#include "isobit/log/segment.h"
#include "isobit/log/step_log.h"
#include "isobit/runtime/stages/log_follower.h"
#include "isobit/runtime/stages/log_recorder.h"
#include "isobit/train/job.h"
#include "isobit/train/step_graph.h"
#include "isobit/verify/log_tree.h"

namespace isobit::run {

runtime::RoundingRules rounding_rules(const train::Job& job);

// A step's log as it is stored, and what the step's leaf commits to.
struct WrittenSegment {
  Bytes bytes;
  commit::Digest root{};
};

// The trainer's side: one step at a time.
class StepLogWriter {
 public:
  virtual ~StepLogWriter() = default;
  // The stage for the step about to be computed (1 for the first).
  virtual runtime::Stage& begin(uint64_t step) = 0;
  // Of the step that was computed.
  virtual Expected<WrittenSegment> end() = 0;
  // What the leaf of a step commits to whose log is stored in these bytes. kRejected, kUnreadable: they are no log of
  // that step.
  virtual Expected<commit::Digest> root_of(uint64_t step, ByteView segment) const = 0;
  virtual const log::CountsByOperator& counts() const = 0;  // of all steps
};

// REQUIRES a job whose arithmetic logs, and its graph.
std::unique_ptr<StepLogWriter> make_step_log_writer(const train::Job& job, const train::StepGraph& graph);
// The same around a recorder that is no plain runtime::make_recorder.
std::unique_ptr<StepLogWriter> make_step_log_writer(const train::Job& job, const train::StepGraph& graph,
                                                    std::unique_ptr<runtime::LogRecorder> recorder);

class StepLogReader {
 public:
  // kTakeExact: of a sparse log; then the bytes of a log that is none are no fault, and the exact values decide.
  StepLogReader(const train::Job& job, const train::StepGraph& graph,
                runtime::OnIllegal on_illegal = runtime::OnIllegal::kEndStep);
  // leaf: what the step's leaf commits to (verify/log_tree.h). before: whether the state before the step is known to be
  // the trainer's. kRejected, kUnreadable: the bytes are no log of this step (log/segment.h), or one of other entries
  // than the leaf's; fault() is set. kUnavailable: no memory for it.
  Expected<runtime::Stage*> begin(uint64_t step, ByteView segment, const std::optional<commit::Digest>& leaf,
                                  runtime::StateBefore before);
  // After the step: whether the whole log was used.
  Status end();
  const log::CountsByOperator& counts() const { return follower_->counts(); }  // of all steps
  // Set when the log could not be followed, or this platform is beyond the job's bound.
  const std::optional<log::Fault>& fault() const { return fault_; }
  // To be called after the stage has ended a step early: sets fault() if the log was the reason.
  void note_fault() { fault_ = follower_->fault(); }
  // kTakeExact, after the step: what its leaf should commit to, the log without the entries that may not stand.
  commit::Digest root_of_rest() const;
  // Likewise: the first of these entries.
  std::optional<runtime::EntryPlace> first_illegal() const;

 private:
  runtime::Stage* begin_without_log(uint64_t step);

  log::Kind kind_;
  runtime::OnIllegal on_illegal_;
  log::Segment segment_;  // kTakeExact: of the step
  commit::Digest leaf_{};
  std::unique_ptr<runtime::LogFollower> follower_;
  std::vector<log::LoggedOutput> outputs_;
  std::optional<log::Fault> fault_;
};

// The entries of a step's log that is stored in these bytes. Errors as StepLogWriter::root_of.
Expected<verify::LogTree> read_log_tree(const train::Job& job, const train::StepGraph& graph, uint64_t step,
                                        ByteView segment);

// Whether the job takes the published scheme's log as it is, and what is said of its runs then.
bool leaves_log_unchecked(const train::Job& job);
inline constexpr const char* kUncheckedLog =
    "no guarantee: with rounding.distance = false the log's decisions on inner products are taken unchecked";

}  // namespace isobit::run
