// The sparse log: near-ties of inner products only, each by position.
//
// A trainer writes an entry for every output that some platform within the bound might round the other way; an auditor
// reads one exactly where it needs it. What no entry decides is the same on both. Rule and widths: near_ties.h.
//
// An entry is followed only if its value is one that the auditor's own result can round to within the bound; failing
// that, only if the exact value can, within the bound of one platform. What every platform computes exactly
// (near_ties.h) no entry can move. So whoever forges entries can move only values that lie next to a rounding boundary,
// and each of those by one spacing.
#pragma once

#include <optional>

#include "isobit/runtime/stages/log_counts.h"
#include "isobit/runtime/stages/rounding_stage.h"

namespace isobit::runtime {

// Of a trainer. One step at a time.
class SparseRecorder final : public RoundingStage {
 public:
  explicit SparseRecorder(const RoundingRules& rules) : RoundingStage(rules.bits), rules_(rules) {}
  void begin_step(uint64_t step);
  Status apply(size_t index, KernelCall& call) override;
  const SparseLog& log() const { return log_; }               // of the step so far
  const CountsByOperator& counts() const { return counts_; }  // of all steps

 private:
  const RoundingRules rules_;
  uint64_t step_ = 0;
  uint64_t products_ = 0;  // inner products seen in this step
  uint64_t products_before_ = 0;
  SparseLog log_;
  CountsByOperator counts_;
};

// Of an auditor, or of a trainer that repeats steps it has signed. An illegal value, or an entry that is missing where
// nothing else decides, ends the step with an error of code kRejected and sets fault().
class SparseFollower final : public RoundingStage {
 public:
  explicit SparseFollower(const RoundingRules& rules) : RoundingStage(rules.bits), rules_(rules) {}
  void begin_step(SparseLog log);
  Status apply(size_t index, KernelCall& call) override;
  // Whether every node of the log has been met; kRejected otherwise.
  Status end_step();
  const CountsByOperator& counts() const { return counts_; }
  const std::optional<LogFault>& fault() const { return fault_; }

 private:
  struct Place;
  Status follow(KernelCall& call, std::vector<ProductBlock>& blocks, const std::vector<SparseEntry>& entries);
  Status take(KernelCall& call, const Place& place, LogCounts& counts);
  Status decide_missing(KernelCall& call, const Place& place, LogCounts& counts);
  Status reject(const KernelCall& call, uint64_t position, const std::string& what);

  const RoundingRules rules_;
  SparseLog log_;
  size_t next_ = 0;  // node of the log
  CountsByOperator counts_;
  std::optional<LogFault> fault_;
};

}  // namespace isobit::runtime
