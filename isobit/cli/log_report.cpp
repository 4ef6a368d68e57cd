#include "isobit/cli/log_report.h"

#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/cli/console.h"
#include "isobit/runtime/stages/self_check.h"

namespace isobit::cli {
namespace {

nlohmann::ordered_json one(const log::Counts& c) {
  return {{"elements", c.elements},       {"entries", c.entries},    {"needed", c.needed},
          {"corrections", c.corrections}, {"moved", c.moved},        {"evaluated", c.evaluated},
          {"sampled", c.sampled},         {"checked", c.checked},    {"missing", c.missing},
          {"superfluous", c.superfluous}, {"beyond_bound", c.beyond}};
}

using verify::FindingKind;
using verify::LogFinding;

const char* text_of_kind(FindingKind kind) {
  switch (kind) {
    case FindingKind::kMissing:
      return "entries missing, settled exactly";
    case FindingKind::kSuperfluous:
      return "entries far from any boundary";
    case FindingKind::kBeyondBound:
      return "entries beyond the job's bound, though not illegal";
    case FindingKind::kCorrections:
      return "more values off the exact ones' rounding than honest platforms come to";
  }
  return "";
}

void add_excess(const std::string& op, const log::Counts& c, std::vector<LogFinding>& findings) {
  const double most = log::most_expected_moves(c);
  if (static_cast<double>(c.moved) <= most) return;
  findings.push_back({FindingKind::kCorrections, op, c.moved, static_cast<uint64_t>(most)});
}

constexpr double kShare = 0.001;  // of outputs, for which the probability of noticing is said

std::string per_step(uint64_t count, uint64_t steps) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", static_cast<double>(count) / static_cast<double>(steps < 1 ? 1 : steps));
  return text;
}

// To the nearest byte.
uint64_t rounded_share(uint64_t bytes, uint64_t steps) { return steps < 1 ? bytes : (bytes + steps / 2) / steps; }

}  // namespace

nlohmann::ordered_json log_json(const log::CountsByOperator& counts, uint64_t steps, uint64_t bytes) {
  if (counts.empty()) return nullptr;
  nlohmann::ordered_json document = one(total(counts));
  document["noticing"] = runtime::noticing_probability(kShare, total(counts).sampled);
  document["steps"] = steps;
  if (bytes > 0) document["bytes"] = bytes;
  for (const auto& [op, c] : counts) document["operators"][op] = one(c);
  return document;
}

std::string log_line(const log::CountsByOperator& counts, uint64_t steps, uint64_t bytes) {
  const log::Counts c = total(counts);
  return text_of("log           ", human_bytes(bytes), " (", human_bytes(rounded_share(bytes, steps)),
                 " a step): ", per_step(c.entries, steps), " of ", per_step(c.elements, steps),
                 " outputs a step written down");
}

std::string checked_line(const log::CountsByOperator& counts) {
  const log::Counts c = total(counts);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", runtime::noticing_probability(kShare, c.sampled));
  return text_of("self-check    ", c.checked, " of ", c.sampled,
                 " outputs within the job's bound of their exact values, and every near-tie;",
                 " one in 1,000 beyond it would be noticed with probability ", text, " or more");
}

std::vector<std::string> followed_lines(const log::CountsByOperator& counts, uint64_t steps) {
  if (counts.empty()) return {};
  const log::Counts all = total(counts);
  std::vector<std::string> lines = {text_of("log followed  ", per_step(all.entries, steps), " entries and ",
                                            per_step(all.corrections, steps), " corrections a step, of ",
                                            per_step(all.elements, steps), " outputs")};
  if (all.checked > 0) lines.push_back(checked_line(counts));
  for (const auto& [op, c] : counts) {
    if (c.corrections > 0) lines.push_back(text_of("  ", op, ": ", c.corrections, " corrections in all"));
  }
  const std::vector<std::string> found = finding_lines(findings_of(counts));
  lines.insert(lines.end(), found.begin(), found.end());
  return lines;
}

std::vector<LogFinding> findings_of(const log::CountsByOperator& counts) {
  std::vector<LogFinding> findings;
  for (const auto& [op, c] : counts) {
    if (c.missing > 0) findings.push_back({FindingKind::kMissing, op, c.missing, 0});
    if (c.superfluous > 0) findings.push_back({FindingKind::kSuperfluous, op, c.superfluous, 0});
    if (c.beyond > 0) findings.push_back({FindingKind::kBeyondBound, op, c.beyond, 0});
    add_excess(op, c, findings);
  }
  // What is spread thinly over the operators still adds up.
  if (counts.size() > 1) add_excess("", total(counts), findings);
  return findings;
}

std::vector<std::string> finding_lines(const std::vector<LogFinding>& findings) {
  std::vector<std::string> lines;
  for (const LogFinding& f : findings) {
    lines.push_back(text_of("finding       ", text_of_kind(f.kind),
                            f.op.empty() ? "" : text_of(" of ", printable(f.op)), ": ", f.count,
                            f.expected_most > 0 ? text_of(", at most ", f.expected_most, " expected") : ""));
  }
  return lines;
}

nlohmann::ordered_json findings_json(const std::vector<LogFinding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LogFinding& f : findings) {
    list.push_back({{"kind", verify::name_of(f.kind)},
                    {"operator", nullptr},
                    {"count", f.count},
                    {"expected_at_most", f.expected_most}});
    if (!f.op.empty()) list.back()["operator"] = f.op;
  }
  return list;
}

}  // namespace isobit::cli
