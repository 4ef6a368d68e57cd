// What train and audit say of a rounding log.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isobit/log/counts.h"
#include "isobit/verify/verdict.h"

namespace isobit::cli {

// Per operator and in all; null when nothing was logged. bytes 0: not known. `noticing`: at least the
// probability that a platform beyond the job's bound on one in 1,000 outputs of products would have been noticed.
nlohmann::ordered_json log_json(const log::CountsByOperator& counts, uint64_t steps, uint64_t bytes);

// Of a trainer.
std::string log_line(const log::CountsByOperator& counts, uint64_t steps, uint64_t bytes);

// Of either: how many outputs the platform set against their exact values, and what that would have shown.
std::string checked_line(const log::CountsByOperator& counts);

// Of an auditor: corrections by operator, findings if there are any; nothing when no log was followed.
std::vector<std::string> followed_lines(const log::CountsByOperator& counts, uint64_t steps);

// What an honest trainer's log does not have, by kind and operator, each with its count and what of it is expected at
// most: entries "missing", "superfluous" or "beyond_bound" (none expected), and "corrections" in excess
// (log::most_expected_moves; of all operators together: operator null).
std::vector<verify::LogFinding> findings_of(const log::CountsByOperator& counts);
std::vector<std::string> finding_lines(const std::vector<verify::LogFinding>& findings);
nlohmann::ordered_json findings_json(const std::vector<verify::LogFinding>& findings);

}  // namespace isobit::cli
