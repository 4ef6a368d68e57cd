// 'isobit verify A B' and 'isobit verify EVIDENCE': what convicts a signer without replaying anything.
#pragma once

#include <string>

#include "isobit/cli/console.h"
#include "isobit/cli/trust.h"

namespace isobit::cli {

// Compares two copies of a run; writes what convicts their signer to `out` unless that is empty. kDisagreed with
// evidence, kAgreed without.
Expected<int> verify_two_runs(const std::string& a, const std::string& b, const std::string& out, const Trust& trust,
                              Console& console);

// Checks a file of evidence. kAgreed when it convicts, kDisagreed when it does not.
Expected<int> verify_evidence_file(const std::string& path, const Bytes& bytes, Console& console);

}  // namespace isobit::cli
