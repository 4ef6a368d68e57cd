// Who follows the log of a training step: one interface, a follower for each kind of log behind it. Followers check
// their own platform, know which operands they are sure to share with the trainer, and say why a log cannot be
// followed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/log/counts.h"
#include "isobit/log/fault.h"
#include "isobit/log/step_log.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/runtime/stages/self_check.h"

namespace isobit::runtime {

// More superfluous decisions than this in one step are refused. An honest trainer within the bound writes none; each
// costs the auditor an exact evaluation.
inline constexpr uint64_t kMostSuperfluous = 64;

// Whether trainer and auditor are known to have the same state before a step, as after a committed state root that the
// replay reproduced, or at the beginning.
enum class StateBefore { kAgreed, kUnknown };

// What becomes of an entry that may not stand: an audit ends with it; who has to say what the step should have been
// takes the exact value, and names the entry.
enum class OnIllegal { kEndStep, kTakeExact };

// An entry of the log, by its place.
struct EntryPlace {
  uint32_t node = 0;
  uint64_t position = 0;
  auto operator<=>(const EntryPlace&) const = default;
};

// Of an auditor, or of a trainer that repeats steps it has signed. A log that cannot be followed ends the step with an
// error of code kRejected and sets fault(); so does a platform beyond the job's bound, with an error of code
// kUnavailable.
//
// Under a calibrated bound two honest platforms may round an output apart without an entry, if one of them is beyond
// the bound and has not noticed. From there on they have different operands, and what the one writes says nothing to
// the other. So a value is called illegal only where all operands are functions of a state that is agreed and of the
// batch; elsewhere the two differ, and it is not said which of them is at fault. Under the sound bound this cannot
// happen.
class LogFollower : public RoundingStage {
 public:
  // Before each step. REQUIRES a log of the rules' kind.
  virtual void begin_step(uint64_t step, log::StepLog log, StateBefore before) = 0;
  // After each step: whether the whole log has been met; kRejected otherwise.
  virtual Status end_step() = 0;
  void begin_run(const graph::Graph& graph) override;
  // Rounding in pieces serves who looks at inner products alone.
  kernels::Finisher* finisher(KernelCall& call) override {
    return rules_.log == log::Kind::kSparse ? RoundingStage::finisher(call) : nullptr;
  }
  const log::CountsByOperator& counts() const { return counts_; }
  const std::optional<log::Fault>& fault() const { return fault_; }
  // OnIllegal::kTakeExact: the entries of this step that may not stand, in order.
  const std::vector<EntryPlace>& illegal() const { return illegal_; }

 protected:
  LogFollower(const RoundingRules& rules, OnIllegal on_illegal)
      : RoundingStage(rules.bits), rules_(rules), on_illegal_(on_illegal) {}

  // What begin_step() of either kind begins with.
  void begin(uint64_t step, StateBefore before);

  // The bounds of a product; the sample of this step is checked.
  Expected<ErrorBounds> begin_product(KernelCall& call, const std::vector<kernels::rounding::ProductBlock>& blocks,
                                      log::Counts& counts);
  // Outputs of this platform beside their exact values, all within the job's bound of them.
  Expected<std::vector<kernels::rounding::ExactOutput>> evaluate(
      const KernelCall& call, const std::vector<kernels::rounding::ProductBlock>& blocks, const ErrorBounds& bounds,
      const std::vector<kernels::rounding::NearTie>& places);

  // Counts what the ruling says; an error where it forbids the decision. Else the output is ruling.value.
  Status admit(const KernelCall& call, const kernels::rounding::ExactOutput& output, const Ruling& ruling,
               log::Counts& counts);

  // A fault whose only excuse can be that trainer and auditor have different operands, so without one where they are
  // known to have the same.
  Status refuse(const KernelCall& call, uint64_t position, const std::string& what);
  // A fault that no operands excuse.
  Status reject_damaged(const std::string& op, const std::string& what);

  const RoundingRules rules_;
  const OnIllegal on_illegal_;
  uint64_t step_ = 0;
  log::CountsByOperator counts_;
  std::vector<EntryPlace> illegal_;

 private:
  StateBefore before_ = StateBefore::kUnknown;
  std::vector<char> shared_;  // by value of the graph: whether trainer and auditor are known to have the same
  uint64_t superfluous_ = 0;  // decisions of this step
  std::optional<log::Fault> fault_;
};

// The one for rules.log. REQUIRES a sparse log for kTakeExact: decisions of ovt are not judged one by one.
std::unique_ptr<LogFollower> make_follower(const RoundingRules& rules, OnIllegal on_illegal = OnIllegal::kEndStep);

}  // namespace isobit::runtime
