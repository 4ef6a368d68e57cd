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

#include <utility>

#include "isobit/runtime/stages/log_follower.h"
#include "isobit/runtime/stages/log_recorder.h"

namespace isobit::runtime {

// Of a trainer. One step at a time. A platform beyond the job's bound ends the step with an error of code kUnavailable.
class SparseRecorder final : public LogRecorder {
 public:
  explicit SparseRecorder(const RoundingRules& rules, SelfCheck self_check = SelfCheck::kYes)
      : rounding_(rules.bits), rules_(rules), self_check_(self_check) {}
  void begin_run(const graph::Graph& graph) override { rounding_.begin_run(graph); }
  void begin_step(uint64_t step) override;
  kernels::Finisher* finisher(KernelCall& call) override { return rounding_.finisher(call); }
  Status apply(size_t index, KernelCall& call) override;
  Status apply_again(size_t index, KernelCall& call) override { return rounding_.apply_again(index, call); }
  const log::SparseLog& log() const { return log_; }  // of the step so far
  log::StepLog take_log() override { return std::exchange(log_, {}); }
  const log::CountsByOperator& counts() const override { return counts_; }

 private:
  RoundingStage rounding_;
  const RoundingRules rules_;
  const SelfCheck self_check_;
  uint64_t step_ = 0;
  log::SparseLog log_;
  log::CountsByOperator counts_;
};

class SparseFollower final : public LogFollower {
 public:
  explicit SparseFollower(const RoundingRules& rules, OnIllegal on_illegal = OnIllegal::kEndStep)
      : LogFollower(rules, on_illegal) {}
  void begin_step(uint64_t step, log::StepLog log, StateBefore before) override;
  Status apply(size_t index, KernelCall& call) override;
  Status end_step() override;

 private:
  Status follow(size_t index, KernelCall& call, std::vector<kernels::rounding::ProductBlock>& blocks,
                const std::vector<log::SparseEntry>& entries);
  // The value of each entry's output. Before the outputs are rounded.
  Expected<std::vector<double>> judge(size_t index, KernelCall& call,
                                      const std::vector<kernels::rounding::ProductBlock>& blocks,
                                      const ErrorBounds& bounds, const std::vector<log::SparseEntry>& entries,
                                      log::Counts& counts);

  log::SparseLog log_;
  size_t next_ = 0;  // node of the log
};

}  // namespace isobit::runtime
