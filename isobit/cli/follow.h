// 'isobit audit --follow': a run that is still training.
#pragma once

#include <atomic>
#include <string>

#include "isobit/cli/console.h"
#include "isobit/run/follow_run.h"

namespace isobit::cli {

// How far it has come, for whoever ends the program from another thread.
struct Standing {
  std::atomic<uint64_t> checked{0}, steps{0};
  std::string text() const;  // "checked up to step 12 of 300"
};

// Until the run has ended or Ctrl-C was pressed, in which case what is checked is reported. keep: as in FollowRequest.
Expected<run::FollowSummary> follow(const run::AuditRequest& audit, const std::string& keep, Standing& standing,
                                    Console& console);

}  // namespace isobit::cli
