#include <set>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/comparison_report.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"

namespace isobit::cli {
namespace {

struct Options {
  std::vector<std::string> labs;
  std::string by;
  bool details = false;
  LimitOptions limits;
};

// That some platform has the field.
Status check_field(const std::string& field, const std::vector<lab::deviation::Comparison>& subjects) {
  std::set<std::string> known;
  for (const auto& subject : subjects) {
    for (const auto& platform : subject.platforms) {
      for (const auto& [name, unused] : platform.record.fields) known.insert(name);
    }
  }
  if (known.contains(field)) return {};
  const std::vector<std::string> names(known.begin(), known.end());
  return usage_error(text_of("--by: found '", field, "', a field of no platform here, expected ",
                             names.empty() ? "none: they have no fields" : join_or(names)));
}

Expected<int> run(const Options& o, Console& console) {
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(auto labs, lab::deviation::open_labs(o.labs));
  ISOBIT_TRY(const auto comparison, lab::deviation::compare_labs(labs));
  if (!o.by.empty()) ISOBIT_RETURN_IF_ERROR(check_field(o.by, comparison.subjects));
  const std::string by = o.by.empty() ? "device" : o.by;
  const std::string document = json_text(comparison_json(comparison, by));
  deadline.finish();
  console.document(document);
  print_comparison(comparison, by, o.details, console);
  return exit_code_of(lab::deviation::agreement_of(comparison));
}

}  // namespace

void add_compare(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c =
      commands.add("compare", "which platforms gave different bits, how far apart they are, and where they fork",
                   "  isobit compare measured.lab\n"
                   "  isobit compare here.lab elsewhere.lab --json\n"
                   "  isobit compare equivalence_classes.tar.zst --by place\n");
  c.positionals("LAB...", o->labs, "labs, or folders or archives with the JSON records of the published study");
  c.option("--by", "FIELD", o->by, "count classes for each value of this field of the platforms (default: device)");
  c.flag("--details", o->details, "show the members of all classes, however many subjects there are");
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
