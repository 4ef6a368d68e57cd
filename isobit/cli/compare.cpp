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

// By what classes are counted where nothing is said: records of the study have devices, those of isobit none.
constexpr const char* kDeviceField = "device";

// A field that some platform has.
Expected<std::string> field_of(const std::string& asked, const std::vector<lab::deviation::Comparison>& subjects) {
  std::set<std::string> known = {kEngineField};
  for (const auto& subject : subjects) {
    for (const auto& platform : subject.platforms) {
      for (const auto& [name, unused] : platform.record.fields) known.insert(name);
    }
  }
  if (asked.empty()) return std::string(known.contains(kDeviceField) ? kDeviceField : kEngineField);
  if (known.contains(asked)) return asked;
  const std::vector<std::string> names(known.begin(), known.end());
  return usage_error(text_of("--by: found '", asked, "', a field of no platform here, expected ", join_or(names)));
}

Expected<int> run(const Options& o, Console& console) {
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(auto labs, lab::deviation::open_labs(o.labs));
  ISOBIT_TRY(const auto comparison, lab::deviation::compare_labs(labs));
  ISOBIT_TRY(const std::string by, field_of(o.by, comparison.subjects));
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
  c.option("--by", "FIELD", o->by,
           "count classes for each value of this field of the platforms (default: device, or else engine)");
  c.flag("--details", o->details, "show the members of all classes, however many subjects there are");
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
