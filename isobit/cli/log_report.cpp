#include "isobit/cli/log_report.h"

#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/cli/console.h"

namespace isobit::cli {
namespace {

nlohmann::ordered_json one(const runtime::LogCounts& c) {
  return {{"elements", c.elements},       {"entries", c.entries}, {"needed", c.needed},
          {"corrections", c.corrections}, {"missing", c.missing}, {"superfluous", c.superfluous},
          {"beyond_bound", c.beyond}};
}

std::string per_step(uint64_t count, uint64_t steps) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", static_cast<double>(count) / static_cast<double>(steps < 1 ? 1 : steps));
  return text;
}

}  // namespace

nlohmann::ordered_json log_json(const runtime::CountsByOperator& counts, uint64_t steps, uint64_t bytes) {
  if (counts.empty()) return nullptr;
  nlohmann::ordered_json document = one(total(counts));
  document["steps"] = steps;
  if (bytes > 0) document["bytes"] = bytes;
  for (const auto& [op, c] : counts) document["operators"][op] = one(c);
  return document;
}

std::string log_line(const runtime::CountsByOperator& counts, uint64_t steps, uint64_t bytes) {
  const runtime::LogCounts c = total(counts);
  return text_of("log           ", human_bytes(bytes), " (", human_bytes(bytes / (steps < 1 ? 1 : steps)),
                 " a step): ", per_step(c.entries, steps), " of ", per_step(c.elements, steps),
                 " outputs a step written down");
}

std::vector<std::string> followed_lines(const runtime::CountsByOperator& counts, uint64_t steps) {
  if (counts.empty()) return {};
  const runtime::LogCounts all = total(counts);
  std::vector<std::string> lines = {text_of("log followed  ", per_step(all.entries, steps), " entries and ",
                                            per_step(all.corrections, steps), " corrections a step, of ",
                                            per_step(all.elements, steps), " outputs")};
  for (const auto& [op, c] : counts) {
    if (c.corrections > 0) lines.push_back(text_of("  ", op, ": ", c.corrections, " corrections in all"));
  }
  if (all.findings() > 0) {
    lines.push_back(text_of("findings      ", all.missing, " entries missing, ", all.superfluous, " superfluous, ",
                            all.beyond, " beyond the calibrated bound but legal"));
  }
  if (too_many_corrections(all)) {
    lines.push_back(text_of("findings      ", all.corrections, " corrections of ", all.entries,
                            " entries: more than honest platforms come to"));
  }
  return lines;
}

bool too_many_corrections(const runtime::LogCounts& counts) {
  return static_cast<double>(counts.corrections) > runtime::most_expected_corrections(counts);
}

}  // namespace isobit::cli
