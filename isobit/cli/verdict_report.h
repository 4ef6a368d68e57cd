// Verdicts as people and programs read them, and 'isobit verify' of a verdict's file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "isobit/cli/console.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/trust.h"
#include "isobit/verify/verdict.h"

namespace isobit::cli {

nlohmann::ordered_json difference_json(const std::optional<verify::FirstDifference>& d);

// How a sample was drawn; null where none was.
nlohmann::ordered_json sample_json(const std::optional<verify::SampleNames>& sample);

// Which run the verdict is of, null where the bundle was rejected before it could say, and whether it names transcript,
// state and head, which its auditor says the trainer signed, or what the engagement says alone: whoever has that can
// put it beside anything.
nlohmann::ordered_json run_names_json(const verify::Verdict& verdict);
void print_run_names(const verify::Verdict& verdict, Console& console);

// kUnreadable: the file is no verdict. No signature is checked.
Expected<verify::Verdict> read_verdict(const std::string& file);

// What keeps a verdict from being believed, empty when nothing does: a signature that is not valid, another client's
// run or one under another engagement (where these are known), or, where a file with an auditor's key is named, that
// this auditor has not signed it.
Expected<std::string> problem_of(const verify::Verdict& v, const Trusted& trusted, const std::string& auditor_key);

// 0, 1 or 4: accepted, rejected, inconclusive.
int exit_code_of(verify::Outcome outcome);

// Decodes the verdict and checks it as problem_of() does. The exit code is that of the verdict itself, or 1 when it is
// not genuine.
Expected<int> check_verdict(const std::string& file, const Trusted& trusted, const std::string& auditor_key,
                            Deadline& deadline, Console& console);

}  // namespace isobit::cli
