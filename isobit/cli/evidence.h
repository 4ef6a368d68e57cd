// 'isobit verify A B' and 'isobit verify EVIDENCE': what convicts a signer without replaying anything.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "isobit/cli/console.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/trust.h"
#include "isobit/verify/evidence.h"

namespace isobit::cli {

struct TwoRuns {
  std::string a, b;
  std::string out;  // where to write what convicts their signer, unless empty
  Trust trust;
  run::Limits limits;
};

// Compares two copies of a run. kDisagreed with evidence, kAgreed without. Finishes the deadline when it knows.
Expected<int> verify_two_runs(const TwoRuns& runs, Deadline& deadline, Console& console);

// A fork as a document, and in words.
nlohmann::ordered_json fork_json(const verify::ForkEvidence& fork);
void print_fork(const verify::ForkEvidence& fork, Console& console);
// Where it was written, or how to have it written.
void print_fork_file(const std::string& file, Console& console);

// Checks a file of evidence. kAgreed when it convicts, kDisagreed when it does not, or when it is of another client's
// run or of another engagement than was named.
Expected<int> verify_evidence_file(const std::string& path, const Bytes& bytes, const Trusted& trusted,
                                   Deadline& deadline, Console& console);

}  // namespace isobit::cli
