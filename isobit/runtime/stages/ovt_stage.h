// The log of the published scheme: a ternary decision for every rounded output.
//
// With x the float64 value and r the value it rounds to: 2 if |x - r| > threshold * spacing and x < r (rounded up), 0
// if so and x > r (rounded down), else 1. An auditor that would round up where the log says 0 takes the value below;
// one that would round down where it says 2 takes the one above. Nothing is checked: the scheme has no rule for it.
// Source: M. Srivastava, S. Arora and D. Boneh, NeurIPS 2024, Algorithms 1 and 2. Here, too, the scale of x is that of
// its binade.
#pragma once

#include <utility>

#include "isobit/runtime/stages/log_counts.h"
#include "isobit/runtime/stages/rounding_stage.h"

namespace isobit::runtime {

class OvtRecorder final : public RoundingStage {
 public:
  explicit OvtRecorder(const RoundingRules& rules) : RoundingStage(rules.bits), rules_(rules) {}
  void begin_step() { log_.outputs.clear(); }
  Status apply(size_t index, KernelCall& call) override;
  const OvtLog& log() const { return log_; }
  // The same, a byte for every rounded value, without a copy. None is left.
  OvtLog take_log() { return std::exchange(log_, {}); }
  const CountsByOperator& counts() const { return counts_; }

 private:
  const RoundingRules rules_;
  OvtLog log_;
  CountsByOperator counts_;
};

// An output without decisions, or with another number of them, is an error of code kRejected and sets fault().
class OvtFollower final : public RoundingStage {
 public:
  explicit OvtFollower(const RoundingRules& rules) : RoundingStage(rules.bits), rules_(rules) {}
  void begin_step(OvtLog log);
  Status apply(size_t index, KernelCall& call) override;
  Status end_step();
  const CountsByOperator& counts() const { return counts_; }
  const std::optional<LogFault>& fault() const { return fault_; }

 private:
  Status reject(const std::string& op, const std::string& what);

  const RoundingRules rules_;
  OvtLog log_;
  size_t next_ = 0;
  CountsByOperator counts_;
  std::optional<LogFault> fault_;
};

}  // namespace isobit::runtime
