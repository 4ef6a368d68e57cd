// Two copies of one run: do they tell the same story, or did their trainer sign two?
#pragma once

#include <optional>

#include "isobit/run/open_run.h"
#include "isobit/verify/evidence.h"

namespace isobit::run {

struct RunComparison {
  // Leaves that both have and that are the same from the beginning on; `a_leaves` and `b_leaves` are all they have.
  uint64_t common_leaves = 0;
  uint64_t a_leaves = 0;
  uint64_t b_leaves = 0;
  // Heads of the two copies, by whatever keys, cannot be of one history.
  bool heads_contradict = false;
  // What convicts the trainer whose key signed both, already verified. None when the copies agree, differ only in what
  // nobody signed for, or when no one key that accepted the engagement signed both histories.
  std::optional<verify::ForkEvidence> fork;
};

// Opens both, finished or not, as open_run does. kUsage when they are of different runs or engagements: then nothing
// follows from a difference.
Expected<RunComparison> compare_runs(const OpenRequest& a, const OpenRequest& b);

}  // namespace isobit::run
