// Taking a run only as an auditor accepted it: the options of verify, eval and export that tie a copy of a run to a
// verdict.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "isobit/cli/trust.h"
#include "isobit/verify/verdict.h"

namespace isobit::cli {

struct AuditedOptions {
  std::string verdict, auditor_key;
  bool partial = false;
};

// --verdict, --auditor-key and --partial.
void add_audited_options(Command& command, AuditedOptions& options);

// What --verdict names, signed by the auditor of --auditor-key or, without it, by one's own key in `home`; none where
// no verdict was named. kRejected: it is not genuine, of another run than is trusted, or not that auditor's. kUsage: a
// key of an auditor and no verdict, or a verdict and nobody whose verdict would count. Which run it speaks of is
// compared when that is opened (run::OpenRequest). An audit of a part (--sample, --from) counts only with --partial,
// and says nothing of the checkpoint of one step (`one_step`): which steps were replayed is not in the verdict.
Expected<std::optional<verify::Verdict>> named_verdict(const AuditedOptions& options, const Trusted& trusted,
                                                       const fs::path& home, bool one_step);

// Whose word the run was taken on, and for how much of it; null and nothing where there was none.
nlohmann::ordered_json audited_json(const std::optional<verify::Verdict>& verdict);
void print_audited(const std::optional<verify::Verdict>& verdict, Console& console);

}  // namespace isobit::cli
