// 'isobit audit --spot': elements of a step checked against what the run's trainer shows, instead of a replay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/cli/answerer.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/trust.h"
#include "isobit/dispute/spot_check.h"
#include "isobit/dispute/spot_record.h"
#include "isobit/run/open_run.h"

namespace isobit::cli {

struct SpotOptions {
  uint64_t draws = 0;
  std::optional<uint64_t> step;
  Bytes seed;
  std::string trainer_key, cheat, platform;
  fs::path home;
  std::string through;  // the folder of a trainer on another machine (exchange.h); empty: see spot_audit
  std::string out;      // where to write what proves a finding, unless empty
};

// kUsage for another number of draws than a check may have.
Status check_draws(uint64_t draws);

// open: as an auditor opens the run, with its client. Without a folder to ask through, the trainer's side computes from
// the folder of the run, in a process of its own. Exit code as of an audit.
Expected<int> spot_audit(const SpotOptions& options, const run::OpenRequest& open, const LimitOptions& limits,
                         Console& console);

// Checks a file that proves a finding. `job`: a job file; the one that the engagement is of. server: whose receipts
// count. Each is kUsage where it is of no use. kAgreed where it proves something false, kDisagreed where it does not,
// or is of another client's run, or another server's receipt, than the trusted one's.
Expected<int> verify_spot_finding(const std::string& file, const Bytes& bytes, const std::string& job,
                                  const std::vector<std::string>& overrides, const Trusted& trusted,
                                  const std::optional<commit::PublicKey>& server, Console& console);

// Of a check that has begun: asks until it is done, and tells what came of it. record: what the check was made from, so
// far without messages. out: where to write it with those that prove a finding, unless empty. seconds: of the auditor's
// side so far. Exit code as of an audit.
Expected<int> finish_spot_check(dispute::SpotCheck& check, Answerer& other, dispute::SpotRecord record,
                                const std::string& out, double seconds, const LimitOptions& limits, Console& console);

}  // namespace isobit::cli
