// The two sides of a logged run: the trainer's, whose stage makes the log of each step, and the auditor's, whose stage
// follows it. A trainer that repeats steps of its own after a kill is on the auditor's side until it is past them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "isobit/runtime/stages/log_counts.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/train/job.h"
#include "isobit/train/step_graph.h"
#include "isobit/verify/log_segment.h"

namespace isobit::run {

runtime::RoundingRules rounding_rules(const train::Job& job);
verify::LogKind log_kind(const train::Job& job);

// REQUIRES a job whose arithmetic logs.
class LogWriter {
 public:
  explicit LogWriter(const train::Job& job);
  ~LogWriter();
  // For the step about to be computed (1 for the first).
  runtime::Stage& begin(uint64_t step);
  // The segment of the step that was computed.
  Bytes segment() const;
  const runtime::CountsByOperator& counts() const;
  uint64_t bytes() const { return bytes_; }  // of all segments so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  mutable uint64_t bytes_ = 0;
};

class LogReader {
 public:
  LogReader(const train::Job& job, const train::StepGraph& graph);
  ~LogReader();
  // kRejected, kUnreadable: the bytes are no log of this step (verify/log_segment.h); fault() is set.
  Expected<runtime::Stage*> begin(uint64_t step, ByteView segment);
  // After the step: whether the whole log was used.
  Status end();
  const runtime::CountsByOperator& counts() const;  // of all steps
  // Set when a log could not be followed: the log is at fault, not this machine.
  const std::optional<runtime::LogFault>& fault() const { return fault_; }
  // Looks whether the stage ended the step for the log's sake.
  void note_fault();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::optional<runtime::LogFault> fault_;
};

}  // namespace isobit::run
