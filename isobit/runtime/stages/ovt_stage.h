// The log of the published scheme: a ternary decision for every rounded output.
//
// With x the float64 value and r the value it rounds to: 2 if |x - r| > threshold * spacing and x < r (rounded up), 0
// if so and x > r (rounded down), else 1. An auditor that would round up where the log says 0 takes the value below;
// one that would round down where it says 2 takes the one above.
// Source: M. Srivastava, S. Arora and D. Boneh, NeurIPS 2024, Algorithms 1 and 2. Here, too, the scale of x is that of
// its binade.
//
// The scheme checks nothing, so that about half of all values can be moved. Two rules are added:
//   - Outside of inner products all platforms compute the same, so no honest log corrects anything there: refused.
//   - With RoundingRules::distance, decisions of inner products obey the bounds of the sparse log (legality.h): a
//     trainer also writes down every near-tie that the threshold leaves out, and takes the exact value where terms
//     cancel; an auditor judges a decision against its own rounding, and whatever it needs, from the exact value.
// Without `distance` decisions of inner products are taken as published, and the log guarantees nothing.
#pragma once

#include <utility>

#include "isobit/runtime/stages/log_follower.h"
#include "isobit/runtime/stages/log_recorder.h"

namespace isobit::runtime {

// A platform beyond the job's bound ends the step with an error of code kUnavailable (with `distance`).
class OvtRecorder final : public LogRecorder {
 public:
  explicit OvtRecorder(const RoundingRules& rules, SelfCheck self_check = SelfCheck::kYes)
      : rounding_(rules.bits), rules_(rules), self_check_(self_check) {}
  void begin_run(const graph::Graph& graph) override { rounding_.begin_run(graph); }
  void begin_step(uint64_t step) override {
    step_ = step;
    log_.outputs.clear();
  }
  Status apply(size_t index, KernelCall& call) override;
  Status apply_again(size_t index, KernelCall& call) override { return rounding_.apply_again(index, call); }
  const log::OvtLog& log() const { return log_; }  // of the step so far
  log::StepLog take_log() override { return std::exchange(log_, {}); }
  const log::CountsByOperator& counts() const override { return counts_; }

 private:
  Status record(size_t index, KernelCall& call, int output);
  Status settle_near_ties(KernelCall& call, std::vector<uint8_t>& decisions, log::Counts& counts);

  RoundingStage rounding_;
  const RoundingRules rules_;
  const SelfCheck self_check_;
  uint64_t step_ = 0;
  log::OvtLog log_;
  log::CountsByOperator counts_;
};

// An output without decisions, or with another number of them, is damage.
class OvtFollower final : public LogFollower {
 public:
  explicit OvtFollower(const RoundingRules& rules) : LogFollower(rules, OnIllegal::kEndStep) {}
  void begin_step(uint64_t step, log::StepLog log, StateBefore before) override;
  Status apply(size_t index, KernelCall& call) override;
  Status end_step() override;

 private:
  Status follow(size_t index, KernelCall& call, int output);
  Status follow_unchecked(KernelCall& call, int output, const log::OvtOutput& entry, log::Counts& counts);
  Status follow_by_distance(KernelCall& call, const log::OvtOutput& entry, log::Counts& counts);

  log::OvtLog log_;
  size_t next_ = 0;
};

}  // namespace isobit::runtime
