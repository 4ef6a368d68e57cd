// An audit of a transcript that still grows, leaf after leaf as they come; in the end the verdict is the one that
// audit() gives of the whole. Pure, as that.
#pragma once

#include <memory>

#include "isobit/verify/auditor.h"

namespace isobit::verify {

class Walk;

class GrowingAudit {
 public:
  // claimed: gets leaves at its end; what was compared of it stays. Neither it nor the replayer, which stands after
  // `step`, is owned; the leaves up to that step were compared before, by an audit that did not go on, and count. Of
  // the options from_step and until_step are ignored.
  GrowingAudit(const Transcript& claimed, Replayer& replayer, const AuditOptions& options, uint64_t step = 0);
  ~GrowingAudit();

  // Compares the leaf that it begins with, or after that one step more. False: claim and replay differ, and only
  // verdict() is of use. After an error the same leaf comes again. REQUIRES claimed.size() > leaves(), leaves() <= the
  // job's steps; and after an error that the replayer still stands before that leaf.
  Expected<bool> compare_next();
  // That agreed: the initial one, and steps. 0 before the first comparison.
  uint64_t leaves() const { return leaves_; }
  // The rest, the final state and the evaluation. REQUIRES that nothing differed so far.
  Expected<AuditVerdict> conclude();
  AuditVerdict verdict() const;

 private:
  const Transcript& claimed_;
  Replayer& replayer_;
  const AuditOptions options_;
  const uint64_t begins_;  // step
  std::unique_ptr<Walk> walk_;
  uint64_t leaves_ = 0;
};

}  // namespace isobit::verify
