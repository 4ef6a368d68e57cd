// The sparse log: near-ties of inner products only, each by position.
//
// A trainer writes an entry for every output that some platform within the bound might round the other way, unless its
// terms cancel, where it takes the exact value and writes nothing; an auditor reads one exactly where it needs it. What
// no entry decides is the same on both: the rounding of the exact value. Widths: near_ties.h.
//
// Every entry is judged from the exact value (legality.h), so two auditors never disagree about one log. Within the
// job's bound whoever forges entries can move only values that lie next to a rounding boundary, each to its other side:
// by one spacing. An entry that moves a value farther, within the sound bound, is taken and counted as a finding.
#pragma once

#include "isobit/runtime/stages/follower_stage.h"

namespace isobit::runtime {

// Of a trainer. One step at a time. A platform beyond the job's bound ends the step with an error of code kUnavailable.
class SparseRecorder final : public RoundingStage {
 public:
  explicit SparseRecorder(const RoundingRules& rules, SelfCheck self_check = SelfCheck::kYes)
      : RoundingStage(rules.bits), rules_(rules), self_check_(self_check) {}
  void begin_step(uint64_t step);
  Status apply(size_t index, KernelCall& call) override;
  const SparseLog& log() const { return log_; }               // of the step so far
  const CountsByOperator& counts() const { return counts_; }  // of all steps

 private:
  const RoundingRules rules_;
  const SelfCheck self_check_;
  uint64_t step_ = 0;
  SparseLog log_;
  CountsByOperator counts_;
};

class SparseFollower final : public FollowerStage {
 public:
  explicit SparseFollower(const RoundingRules& rules) : FollowerStage(rules) {}
  // agreed: as FollowerStage::begin_step.
  void begin_step(uint64_t step, SparseLog log, bool agreed);
  Status apply(size_t index, KernelCall& call) override;
  // Whether every node of the log has been met; kRejected otherwise.
  Status end_step();

 private:
  Status follow(KernelCall& call, std::vector<ProductBlock>& blocks, const std::vector<SparseEntry>& entries);
  // The value of each entry's output. Before the outputs are rounded.
  Expected<std::vector<double>> judge(KernelCall& call, const std::vector<ProductBlock>& blocks,
                                      const ErrorBounds& bounds, const std::vector<SparseEntry>& entries,
                                      LogCounts& counts);

  SparseLog log_;
  size_t next_ = 0;  // node of the log
};

}  // namespace isobit::runtime
