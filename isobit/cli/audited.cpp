#include "isobit/cli/audited.h"

#include "isobit/base/text.h"
#include "isobit/cli/log_report.h"
#include "isobit/cli/verdict_report.h"

namespace isobit::cli {
namespace {

// Without a trusted key a verdict may come from any person, the trainer included.
Expected<std::string> auditor_key_of(const AuditedOptions& options, const fs::path& home) {
  if (!options.auditor_key.empty()) return options.auditor_key;
  const fs::path own = home / "auditor.pub";
  std::error_code ignored;
  if (!home.empty() && fs::exists(own, ignored)) return own.string();
  return usage_error("--verdict: name the auditor whose verdict counts with --auditor-key");
}

// A transcript has a leaf for every step, one before and one behind them.
uint64_t steps_of(const verify::Verdict& verdict) {
  const uint64_t leaves = verdict.finished ? verdict.finished->last_head.size : 0;
  return leaves < 2 ? 0 : leaves - 2;
}

std::string what_was_checked(const verify::Verdict& v) {
  if (v.audit.complete) return text_of("the whole run, ", v.audit.steps_checked, " steps");
  const std::string part = text_of("a part of the run, ", v.audit.steps_checked, " of ", steps_of(v), " steps");
  if (!v.sample) return part + ": the state before these was taken from the run";
  return text_of(part, ": the last and ", v.sample->drawn, " others of ", v.sample->intervals, " intervals");
}

}  // namespace

void add_audited_options(Command& command, AuditedOptions& options) {
  command.option("--verdict", "FILE", options.verdict,
                 "take the run only if it is the one that this signed verdict accepts");
  command.option("--auditor-key", "FILE", options.auditor_key,
                 "public key of the auditor whose verdict counts (default: your own, if you have one)");
  command.flag("--partial", options.partial, "with --verdict: an audit of a part of the run will do");
}

Expected<std::optional<verify::Verdict>> named_verdict(const AuditedOptions& options, const Trusted& trusted,
                                                       const fs::path& home, bool one_step) {
  if (options.verdict.empty()) {
    if (options.auditor_key.empty() && !options.partial) return std::nullopt;
    return usage_error("--auditor-key and --partial go with a verdict: name it with --verdict");
  }
  ISOBIT_TRY(const std::string key, auditor_key_of(options, home));
  ISOBIT_TRY(const verify::Verdict verdict, read_verdict(options.verdict));
  ISOBIT_TRY(const std::string problem, problem_of(verdict, trusted, key));
  if (!trusted.client)
    return usage_error("--verdict: name the client who ordered the run with --client-key or --engagement");
  if (!problem.empty()) return rejected(text_of(options.verdict, ": ", problem));
  if (verdict.audit.accepted() && !verdict.audit.complete) {
    if (!options.partial) {
      return rejected(text_of(options.verdict, ": ", what_was_checked(verdict),
                              "; ask for an audit of the whole run, or take this one with --partial"));
    }
    if (one_step) return usage_error("--step: whether this step was replayed is not in a verdict on a part of the run");
  }
  return verdict;
}

nlohmann::ordered_json audited_json(const std::optional<verify::Verdict>& verdict) {
  if (!verdict) return nullptr;
  return {{"auditor_key", commit::hex_of(verdict->signature->auditor_key)},
          {"complete", verdict->audit.complete},
          {"steps_checked", verdict->audit.steps_checked},
          {"steps", steps_of(*verdict)},
          {"sample", sample_json(verdict->sample)},
          {"findings", findings_json(verdict->findings)}};
}

void print_audited(const std::optional<verify::Verdict>& verdict, Console& console) {
  if (!verdict) return;
  console.line(text_of("audited       accepted by ", commit::hex_of(verdict->signature->auditor_key), ": ",
                       what_was_checked(*verdict)));
  for (const std::string& line : finding_lines(verdict->findings)) console.line(line);
}

}  // namespace isobit::cli
