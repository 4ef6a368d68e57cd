// A replay that is compared with the claim as it goes; shared by the whole and the sampled audit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "isobit/base/status.h"
#include "isobit/verify/auditor.h"

namespace isobit::verify {

// Every method that returns bool says whether claim and replay agree; after a false one only verdict() is of use.
class Walk {
 public:
  Walk(const Transcript& claimed, const AuditOptions& options) : claimed_(claimed), options_(options) {}

  // Whether the transcript is one of the auditor's job, and whole.
  bool claims_the_job();
  // The same of one that still grows. REQUIRES its initial leaf.
  bool begins_the_job();
  // Every batch, by options.batch.
  Expected<bool> compare_batches();
  // Steps to be replayed, for the progress callback.
  void plan(uint64_t steps) { planned_ = steps; }
  // Of a walk that goes on after steps that were compared before.
  void count_as_checked(uint64_t steps) { verdict_.steps_checked = steps; }
  // Takes a replayer that stands after `step`.
  Expected<bool> begin(Replayer& replayer, uint64_t step);
  Expected<bool> advance_to(uint64_t step);
  // REQUIRES position() == rules().steps.
  Expected<bool> compare_final();
  // `rest`: what was compared beside the steps, for the reason of an acceptance that is not complete.
  void accept(bool complete, std::string_view rest = {});

  uint64_t position() const { return position_; }
  // Whatever it is, with the note on every verdict.
  AuditVerdict verdict() const;

 private:
  Expected<bool> compare_step(const StepOutcome& outcome);
  bool has_the_rules();
  bool differ(FirstDifference difference);
  bool refuse(const StepLeaf& leaf, const StepFault& fault);

  const Transcript& claimed_;
  const AuditOptions& options_;
  Replayer* replayer_ = nullptr;
  uint64_t position_ = 0;
  uint64_t agreed_ = 0;  // the last step whose committed state the replay reproduced
  uint64_t planned_ = 0;
  AuditVerdict verdict_;
};

}  // namespace isobit::verify
