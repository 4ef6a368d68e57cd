// 'isobit audit --spot': elements of a step checked against what the run's trainer shows, instead of a replay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/trust.h"
#include "isobit/run/open_run.h"

namespace isobit::cli {

struct SpotOptions {
  uint64_t draws = 0;
  std::optional<uint64_t> step;
  Bytes seed;
  std::string trainer_key, cheat, platform;
  fs::path home;
};

// open: as an auditor opens the run, with its client. The trainer's side computes from the same folder, in a process of
// its own. Exit code as of an audit.
Expected<int> spot_audit(const SpotOptions& options, const run::OpenRequest& open, const LimitOptions& limits,
                         Console& console);

}  // namespace isobit::cli
