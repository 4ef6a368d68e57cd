// The outcome of a dispute as people and programs read it, and 'isobit verify' of a dispute's record.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "isobit/cli/console.h"
#include "isobit/cli/trust.h"
#include "isobit/dispute/record.h"
#include "isobit/dispute/referee.h"
#include "isobit/train/job.h"

namespace isobit::cli {

// The bits of an element: "0x3f800000", and for people "0x3f800000 (1)".
std::string hex_bits(judge::Bits bits, DType dtype);
std::string value_text(judge::Bits bits, DType dtype);

// What the verdict comes to, by name: outcome, level, step, node, operator, value, element and its bits in hex.
nlohmann::ordered_json dispute_json(const dispute::Verdict& verdict);
void print_dispute(const dispute::Verdict& verdict, Console& console);

// "values of step 7", for people who wait.
std::string asked_for(const dispute::Question& question);

// A dispute that ended here: prints it, writes the record to `out` unless that is empty, and gives the document.
struct Settled {
  dispute::Verdict verdict;
  dispute::Referee::Counts counts;
  uint64_t turns = 0;
  double referee_seconds = 0;
};
Status report_dispute(const Settled& settled, const dispute::Record& record, const std::string& out, Console& console);

// 1 where the trainer was found wrong or did not answer, or nobody knows; 0 where the challenge failed.
int exit_code_of(const dispute::Verdict& verdict);

// What a referee knows of a dispute under this engagement. kUsage for a job of another digest than the engaged one.
Expected<dispute::Subject> dispute_subject(const train::Job& job, const verify::Engagement& engagement);

// Plays a record again. `job`: a job file; the one that the engagement is of. server: of a record about a receipt,
// which needs no job, whose receipt it must be. kDisagreed where it is no record of a dispute under the client that is
// trusted.
Expected<int> verify_dispute(const std::string& file, const Bytes& bytes, const std::string& job,
                             const std::vector<std::string>& overrides, const Trusted& trusted,
                             const std::optional<commit::PublicKey>& server, Console& console);

}  // namespace isobit::cli
