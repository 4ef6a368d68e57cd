// Audits a run while it is trained: what is signed so far is replayed, newer heads are waited for, and each must extend
// the one before. When the run is finished, the verdict is that of the audit of the whole.
//
// Of a run that is not finished only what a signed head covers is believed, and nothing is held against anybody but
// signed leaves that differ from the replay and heads that do not extend one another: whatever else is wrong with the
// folder may be a trainer that was just writing, a copy under way or a disk, and is looked at again. In the finished
// run the manifest speaks for every byte.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "isobit/run/audit_run.h"

namespace isobit::run {

struct FollowProgress {
  uint64_t checked = 0;     // steps that agreed
  uint64_t signed_for = 0;  // steps that the newest head covers
  uint64_t steps = 0;       // of the job; 0 until that is known
  std::string waits_for;    // in words; "" while steps are replayed
  std::string problem;      // what could not be read, where that is why it waits
  uint64_t before = 0;      // of those that agreed, replayed by the follower that kept the state it goes on from
  bool operator==(const FollowProgress&) const = default;
};

struct FollowRequest {
  AuditRequest audit;  // REQUIRES neither from_step nor sample
  // Where the state is kept that a follower from audit.home goes on from when it starts again; empty: it begins at the
  // first step. Written now and then behind committed steps, and where it is stopped.
  fs::path keep;
  // Called whenever there is nothing to do: returns when it is time to look again; false to stop.
  std::function<bool()> wait;
  std::function<void(const FollowProgress&)> progress;  // after each step, and before each wait
  const std::atomic<bool>* stop = nullptr;              // set: stops after the step under way
};

struct FollowSummary {
  // How it ended; none where it was stopped, which says nothing of the steps that were not checked.
  std::optional<AuditSummary> ended;
  FollowProgress at;
  std::optional<verify::SignedHead> last_head;  // the newest that was seen
};

// The newest head is noted in audit.home, so that whoever follows or audits the run later from there notices a fork.
// Errors as audit_run; kUsage without a function that waits, with `keep` and without a home, or where `keep` names a
// file that is something else; kUnavailable where it cannot be written.
Expected<FollowSummary> follow_run(const FollowRequest& request);

}  // namespace isobit::run
