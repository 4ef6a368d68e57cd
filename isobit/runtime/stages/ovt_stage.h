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

#include "isobit/runtime/stages/follower_stage.h"

namespace isobit::runtime {

// A platform beyond the job's bound ends the step with an error of code kUnavailable (with `distance`).
class OvtRecorder final : public RoundingStage {
 public:
  explicit OvtRecorder(const RoundingRules& rules, SelfCheck self_check = SelfCheck::kYes)
      : RoundingStage(rules.bits), rules_(rules), self_check_(self_check) {}
  void begin_step(uint64_t step) {
    step_ = step;
    log_.outputs.clear();
  }
  Status apply(size_t index, KernelCall& call) override;
  const OvtLog& log() const { return log_; }
  // The same, a byte for every rounded value, without a copy. None is left.
  OvtLog take_log() { return std::exchange(log_, {}); }
  const CountsByOperator& counts() const { return counts_; }

 private:
  Status record(size_t index, KernelCall& call, int output);
  Status settle_near_ties(KernelCall& call, std::vector<uint8_t>& decisions, LogCounts& counts);

  const RoundingRules rules_;
  const SelfCheck self_check_;
  uint64_t step_ = 0;
  OvtLog log_;
  CountsByOperator counts_;
};

// An output without decisions, or with another number of them, is damage.
class OvtFollower final : public FollowerStage {
 public:
  explicit OvtFollower(const RoundingRules& rules) : FollowerStage(rules) {}
  // agreed: as FollowerStage::begin_step.
  void begin_step(uint64_t step, OvtLog log, bool agreed);
  Status apply(size_t index, KernelCall& call) override;
  Status end_step();

 private:
  Status follow(size_t index, KernelCall& call, int output);
  Status follow_unchecked(KernelCall& call, int output, const OvtOutput& entry, LogCounts& counts);
  Status follow_by_distance(KernelCall& call, const OvtOutput& entry, LogCounts& counts);

  OvtLog log_;
  size_t next_ = 0;
};

}  // namespace isobit::runtime
