#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/comparison_report.h"
#include "isobit/cli/json_text.h"

namespace isobit::cli {
namespace {

struct Options {
  std::vector<std::string> labs;
  std::string by = "device";
  bool details = false;
};

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_TRY(auto labs, lab::deviation::open_labs(o.labs));
  ISOBIT_TRY(const auto comparison, lab::deviation::compare_labs(labs));
  console.document(json_text(comparison_json(comparison, o.by)));
  print_comparison(comparison, o.by, o.details, console);
  const bool agree = std::ranges::all_of(comparison.subjects, [](const lab::deviation::Comparison& c) {
    return c.classes.size() <= 1 && c.nondeterministic() == 0;
  });
  return agree ? kAgreed : kDisagreed;
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
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
