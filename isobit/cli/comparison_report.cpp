#include "isobit/cli/comparison_report.h"

#include <algorithm>

#include "isobit/base/counted.h"
#include "isobit/base/text.h"
#include "isobit/lab/explain/explanation.h"

namespace isobit::cli {
namespace {

using lab::deviation::Comparison;
using lab::deviation::title_of;

constexpr size_t kFewSubjects = 3;  // that are shown in full
constexpr size_t kMostNames = 200;

// Names and reasons may have 64 KiB; the JSON has them whole.
std::string brief(const std::string& text) {
  constexpr size_t kMost = 400;
  return lab::explain::shortened(text, kMost);
}

std::string names(const Comparison& c, const std::vector<size_t>& platforms) {
  std::vector<std::string> list;
  for (const size_t i : platforms) list.push_back(brief(c.platforms[i].label));
  return join_some(list, kMostNames);
}

// "a and its kin (the kernel that they name); b": platforms that name one kernel together, for each its own.
std::string with_kernels(const Comparison& c, const std::vector<size_t>& platforms) {
  std::vector<std::string> kernels;  // in order of first appearance
  std::map<std::string, std::vector<size_t>> of_kernel;
  for (const size_t p : platforms) {
    const std::string& kernel = c.fork->kernels[p];
    if (!of_kernel.contains(kernel)) kernels.push_back(kernel);
    of_kernel[kernel].push_back(p);
  }
  std::string text;
  for (const std::string& kernel : kernels) {
    text += text_of(text.empty() ? "" : "; ", names(c, of_kernel[kernel]),
                    kernel.empty() ? "" : " (" + brief(kernel) + ")");
  }
  return text;
}

// Two subjects of a lab of one model may have the same name and settings.
std::string headline(const Comparison& c) {
  const auto digest = [](const std::optional<commit::Digest>& d) { return commit::hex_of(*d).substr(0, 16); };
  return text_of(brief(title_of(c.subject)), c.subject.model_sha256 ? ", model " + digest(c.subject.model_sha256) : "",
                 c.subject.input_sha256 ? ", inputs " + digest(c.subject.input_sha256) : "");
}

std::string distance(const Comparison& c) {
  if (c.classes.size() < 2) return "";
  if (c.too_many_classes()) {
    return text_of("not compared: ", c.classes.size(), " classes, more than ", lab::deviation::kMostComparedClasses);
  }
  if (!c.overall) return "not known: the tensors were not kept, or differ in type or dimensions";
  const auto& f = *c.overall;
  std::string text;
  if (f.remaining_precision) {
    text = text_of("at least ", *f.remaining_precision, " bits of the significand agree, at most ",
                   *f.ulp == UINT64_MAX ? std::string("a NaN against a number") : text_of(*f.ulp, " ulp"), "; ");
  }
  text += text_of("largest difference ", three_digits(f.absolute), ", relative ", three_digits(f.relative), "; ",
                  f.differing, " of ", f.elements, " elements differ");
  return text;
}

void print_fork(const Comparison& c, const Console& console) {
  if (c.values.empty()) return;
  if (!c.fork) {
    console.line(text_of("  operators       ", counted(c.values.size(), "recorded value is", "recorded values are"),
                         " the same on all platforms"));
    return;
  }
  const auto& v = c.values[c.fork->value];
  console.line(text_of("  first fork      ", v.op.empty() ? "value" : brief(v.op), " '", brief(v.name), "'",
                       v.step > 0 ? text_of(" of step ", v.step) : "", ", after ",
                       counted(c.fork->value, "value that agrees", "values that agree"), " on all platforms:"));
  for (size_t g = 0; g < c.fork->groups.size(); ++g) {
    console.line(text_of("                  ", g + 1, ": ", with_kernels(c, c.fork->groups[g])));
  }
}

// What came of it, in words.
std::string outcome(const Comparison& c) {
  if (c.ran() == 0) return "none ran: nothing to compare";
  const std::string ran = text_of(c.ran(), " ran");
  if (c.ran() == 1) return ran + (c.repeated() > 0 ? ": compared with itself alone" : ": nothing to compare it with");
  return text_of(ran, ", with ", counted(c.classes.size(), "result: the same bits everywhere", "different results"));
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

void print_subject(const Comparison& c, const std::string& by, const Console& console) {
  console.line(headline(c));
  console.line(text_of("  platforms       ", outcome(c)));
  for (size_t k = 0; k < c.classes.size(); ++k) {
    console.line(padded(text_of("  class ", k + 1), 18) + names(c, c.classes[k]));
  }
  std::vector<std::string> counts;
  for (const auto& [value, count] : classes_by(c, by)) counts.push_back(text_of(value, ": ", count));
  if (!counts.empty()) console.line(text_of("  classes by ", by, "  ", join_some(counts, kMostNames)));
  if (c.classes.size() > 1) console.line(text_of("  how far apart   ", distance(c)));
  if (c.churn && c.classes.size() > 1) {
    console.line(text_of("  labels          of ", counted(c.churn->rows, "row", "rows"), " of '", c.label_output, "', ",
                         three_digits(100 * c.churn->any_differ), " % are labelled differently by some platform; ",
                         three_digits(100 * c.churn->pairwise_mean), " % in the mean of two platforms"));
  }
  for (const auto& m : c.dendrogram) {
    const auto n = static_cast<int>(c.classes.size());
    const auto cluster = [&](int i) { return i < n ? text_of("class ", i + 1) : text_of("group ", i - n + 1); };
    console.line(padded(text_of("  group ", &m - c.dendrogram.data() + 1), 18) +
                 text_of(cluster(m.left), " and ", cluster(m.right), ": ", m.similarity, " bits agree"));
  }
  print_fork(c, console);
  if (c.differ_when_tapped && c.classes.size() == 1) {
    console.line("  operators       outputs differ where operators are recorded, though not where they are not");
  }
  for (const auto& p : c.platforms) {
    if (p.equivalence_class == 0) console.line(text_of("  did not run     ", brief(p.label), ": ", brief(p.error)));
    if (p.changed_by_a_tap) {
      console.line(
          text_of("  observer        ", brief(p.label), " computes something else while its operators are recorded"));
    }
    if (p.disagrees_with_itself()) {
      console.line(
          text_of("  nondeterminism  ", brief(p.label), ": ", p.distinct, " different results of ", p.runs, " runs"));
    }
  }
  console.line("");
}

void print_table(const std::vector<Comparison>& subjects, const std::string& by, const Console& console) {
  std::map<std::string, size_t> values;
  size_t width = 8;
  for (const Comparison& c : subjects) {
    values.merge(classes_by(c, by));
    width = std::max(width, brief(title_of(c.subject)).size() + 2);
  }
  std::string head = padded("subject", width) + padded("platforms", 11) + padded("classes", 9);
  for (const auto& [value, unused] : values) head += padded(value, std::max<size_t>(value.size() + 2, 6));
  console.line(head + padded("bits agree", 12) + padded("ulp", 13) + "largest difference");
  for (const Comparison& c : subjects) {
    std::string line = padded(brief(title_of(c.subject)), width) + padded(text_of(c.platforms.size()), 11) +
                       padded(text_of(c.classes.size()), 9);
    const auto counts = classes_by(c, by);
    for (const auto& [value, unused] : values) {
      const auto count = counts.find(value);
      line += padded(count == counts.end() ? "-" : text_of(count->second), std::max<size_t>(value.size() + 2, 6));
    }
    const bool known = c.overall && c.overall->remaining_precision;
    line += padded(known ? text_of(*c.overall->remaining_precision) : "-", 12);
    line += padded(known && *c.overall->ulp != UINT64_MAX ? text_of(*c.overall->ulp) : "-", 13);
    console.line(line + (c.overall ? three_digits(c.overall->absolute) : "-"));
  }
  console.line("");
}

// Lines of several subjects that say the same, once: text -> titles, in order of first appearance.
class Grouped {
 public:
  void add(const std::string& text, const std::string& title) {
    const auto [place, is_new] = places_.emplace(text, lines_.size());
    if (is_new) lines_.emplace_back(text, "");
    std::string& titles = lines_[place->second].second;
    titles += (titles.empty() ? "" : "; ") + title;
  }
  const std::vector<std::pair<std::string, std::string>>& lines() const { return lines_; }

 private:
  std::map<std::string, size_t> places_;
  std::vector<std::pair<std::string, std::string>> lines_;
};

std::string classes_of(const Comparison& c, const lab::deviation::FlagCohort& cohort) {
  std::string classes, members;
  for (size_t i = 0; i < cohort.classes.size(); ++i) {
    const bool first = i == 0, same = !first && cohort.classes[i] == cohort.classes[i - 1];
    classes += text_of(first ? "" : ",", cohort.classes[i]);
    members += text_of(first ? "" : same ? ", " : " | ", c.platforms[cohort.platforms[i]].label);
  }
  return text_of("classes ", classes, "  (", members, ")");
}

// Flags of a cohort are the same whatever the subject; its classes are not.
void print_cohorts(const std::vector<Comparison>& subjects, const Console& console) {
  std::map<std::string, std::pair<const lab::deviation::FlagCohort*, Grouped>> cohorts;
  for (const Comparison& c : subjects) {
    for (const auto& cohort : c.cohorts) {
      const auto place = cohorts.try_emplace(cohort.name, &cohort, Grouped()).first;
      place->second.second.add(classes_of(c, cohort), title_of(c.subject));
    }
  }
  for (const auto& [name, of_name] : cohorts) {
    const auto& [cohort, grouped] = of_name;
    console.line(text_of("CPU flags of ", name, ": ", counted(cohort->platforms.size(), "platform", "platforms"), ", ",
                         cohort->flags.flags, " flags, ", cohort->flags.common, " common to all, the others in ",
                         counted(cohort->flags.clusters.size(), "cluster", "clusters")));
    for (const auto& [text, titles] : grouped.lines()) {
      console.line(text_of("  ", titles));
      console.line(text_of("    ", text));
    }
  }
  if (!cohorts.empty()) console.line("");
}

void print_odd(const lab::deviation::LabComparison& comparison, const Console& console) {
  Grouped apart;
  for (const Comparison& c : comparison.subjects) {
    for (size_t g = 1; g < c.groups.size(); ++g) {
      apart.add(text_of(counted(c.groups[g].size(), "platform differs", "platforms differ"),
                        " from the others by more than 1/64 of the largest value: ", names(c, c.groups[g])),
                text_of(title_of(c.subject), " (by up to ", three_digits(c.overall->absolute), ")"));
    }
  }
  for (const auto& [text, titles] : apart.lines()) {
    console.line(console.bad(text_of("not rounding, but another model, another input or a fault: ", text)));
    console.line(text_of("    in ", titles));
  }
  for (const auto& [model, found] : comparison.input_independent) {
    console.line(console.bad(text_of(
        "not rounding: ", model, ": outputs of ", found.platform, " hardly depend on the input: they differ by ",
        three_digits(found.spread), " between inputs, those of the other platforms by ", three_digits(found.typical))));
  }
  if (!apart.lines().empty() || !comparison.input_independent.empty()) console.line("");
}

}  // namespace

int exit_code_of(lab::deviation::Agreement agreement) {
  switch (agreement) {
    case lab::deviation::Agreement::kAgree:
      return kAgreed;
    case lab::deviation::Agreement::kDiffer:
      return kDisagreed;
    case lab::deviation::Agreement::kNothingToCompare:
      break;
  }
  return kInconclusive;
}

void print_comparison(const lab::deviation::LabComparison& comparison, const std::string& by, bool details,
                      const Console& console) {
  const auto& subjects = comparison.subjects;
  if (subjects.empty()) console.line("no runs: nothing to compare");
  if (subjects.size() > 1) print_table(subjects, by, console);
  if (details || subjects.size() <= kFewSubjects) {
    for (const Comparison& c : subjects) print_subject(c, by, console);
  }
  size_t repeated = 0, disagree = 0;
  for (const Comparison& c : subjects) {
    repeated += c.repeated();
    disagree += c.nondeterministic();
  }
  if (repeated > 0) {
    console.line(text_of("run to run: ", disagree, " of ", repeated,
                         " cells (a platform and a subject) that were repeated gave different results"));
    console.line("");
  }
  print_cohorts(subjects, console);
  print_odd(comparison, console);
  for (const std::string& remark : comparison.remarks) console.line(text_of("note: ", remark));
}

}  // namespace isobit::cli
