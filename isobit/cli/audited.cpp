#include "isobit/cli/audited.h"

#include "isobit/base/text.h"
#include "isobit/cli/log_report.h"
#include "isobit/cli/verdict_report.h"

namespace isobit::cli {
namespace {

// Without a key that counts a verdict is anybody's, also the trainer's.
Expected<std::string> auditor_key_of(const AuditedOptions& options, const Trust& trust) {
  if (!options.auditor_key.empty()) return options.auditor_key;
  const fs::path own = home_of(trust) / "auditor.pub";
  std::error_code ignored;
  if (!home_of(trust).empty() && fs::exists(own, ignored)) return own.string();
  return usage_error("--verdict: name the auditor whose verdict counts with --auditor-key");
}

}  // namespace

void add_audited_options(Command& command, AuditedOptions& options) {
  command.option("--verdict", "FILE", options.verdict,
                 "take the run only if it is the one that this signed verdict accepts");
  command.option("--auditor-key", "FILE", options.auditor_key,
                 "public key of the auditor whose verdict counts (default: your own, if you have one)");
}

Expected<std::optional<verify::Verdict>> named_verdict(const AuditedOptions& options, const Trust& trust) {
  if (options.verdict.empty()) {
    if (options.auditor_key.empty()) return std::nullopt;
    return usage_error("--auditor-key goes with a verdict: name it with --verdict");
  }
  ISOBIT_TRY(const std::string key, auditor_key_of(options, trust));
  ISOBIT_TRY(const auto client, trusted_client(trust));
  ISOBIT_TRY(const verify::Verdict verdict, read_verdict(options.verdict));
  ISOBIT_TRY(const std::string problem, problem_of(verdict, client, key));
  if (!problem.empty()) return rejected(text_of(options.verdict, ": ", problem));
  return verdict;
}

nlohmann::ordered_json audited_json(const std::optional<verify::Verdict>& verdict) {
  if (!verdict) return nullptr;
  return {{"auditor_key", commit::hex_of(verdict->signature->auditor_key)},
          {"complete", verdict->audit.complete},
          {"steps_checked", verdict->audit.steps_checked},
          {"findings", findings_json(verdict->findings)}};
}

void print_audited(const std::optional<verify::Verdict>& verdict, Console& console) {
  if (!verdict) return;
  console.line(text_of("audited       accepted by ", commit::hex_of(verdict->signature->auditor_key), ": ",
                       verdict->audit.complete ? "the whole run" : "a part of the run", ", ",
                       verdict->audit.steps_checked, " steps"));
  for (const std::string& line : finding_lines(verdict->findings)) console.line(line);
}

}  // namespace isobit::cli
