// 'isobit verify A B' and 'isobit verify EVIDENCE': what convicts a signer without replaying anything.
#pragma once

#include <optional>
#include <string>

#include "isobit/cli/console.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/trust.h"

namespace isobit::cli {

struct TwoRuns {
  std::string a, b;
  std::string out;  // where to write what convicts their signer, unless empty
  Trust trust;
  run::Limits limits;
};

// Compares two copies of a run. kDisagreed with evidence, kAgreed without. Finishes the deadline when it knows.
Expected<int> verify_two_runs(const TwoRuns& runs, Deadline& deadline, Console& console);

// Checks a file of evidence. kAgreed when it convicts, kDisagreed when it does not, or when it is of another client's
// run or of another engagement than was named.
Expected<int> verify_evidence_file(const std::string& path, const Bytes& bytes, const Trusted& trusted,
                                   Deadline& deadline, Console& console);

}  // namespace isobit::cli
