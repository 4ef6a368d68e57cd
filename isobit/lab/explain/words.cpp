// The answer in sentences.
#include <algorithm>

#include "isobit/base/counted.h"
#include "isobit/base/text.h"
#include "isobit/lab/explain/explanation.h"

namespace isobit::lab::explain {

std::string shortened(const std::string& name, size_t most) {
  if (name.size() <= most) return name;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // not within a character
  return name.substr(0, end) + "...";
}

std::string names_of(const deviation::Comparison& comparison, const std::vector<size_t>& platforms, size_t most) {
  std::vector<std::string> list;
  for (const size_t p : platforms) list.push_back(shortened(comparison.platforms[p].label));
  if (list.size() < 2 || list.size() > most) return join_some(list, most);
  const std::string last = list.back();
  list.pop_back();
  return text_of(join_some(list, most), " and ", last);
}

namespace {

constexpr size_t kFew = 6;  // names in one list

class Words {
 public:
  explicit Words(const Explanation& e) : e_(e), c_(e.comparison) {}

  std::vector<std::string> all() {
    outcome();
    first_fork();
    agreement();
    separation(e_.of_fork, e_.fork_platforms, "At this operator");
    if (e_.forks.empty() || e_.of_fork.classes != e_.of_output.classes) {
      separation(e_.of_output, e_.output_platforms, "Of the outputs");
    }
    layers();
    distance();
    warnings();
    return std::move(said_);
  }

 private:
  std::string names(const std::vector<size_t>& platforms) const { return names_of(c_, platforms, kFew); }

  std::string node(size_t n) const {
    const records::GraphNode& node = e_.graph[n];
    std::string text = text_of("node ", n, ", ", shortened(node.op));
    if (!node.name.empty()) text += text_of(" '", shortened(node.name), "'");
    return text;
  }

  std::string place(const TracedValue& v) const {
    std::string text = v.step == 0 ? "" : text_of("step ", v.step, ", ");
    if (v.node) text += node(*v.node);
    if (!v.node) text += v.op.empty() ? "the one" : shortened(v.op);
    return text + text_of(" that makes '", shortened(v.name), "'");
  }

  void outcome() {
    size_t ran = e_.output_platforms.size();
    std::string text = counted(ran, "platform ran", "platforms ran");
    const size_t classes = c_.classes.size();
    if (ran > 0) {
      text += classes == 1 ? (ran == 1 ? ": nothing to compare it with" : ", and all outputs are the same in every bit")
                           : text_of(", with ", classes, " different outputs");
    }
    text += ".";
    if (ran < c_.platforms.size()) text += text_of(" ", c_.platforms.size() - ran, " did not run.");
    said_.push_back(std::move(text));
    if (classes < 2) return;
    std::string groups;
    for (size_t k = 0; k < std::min<size_t>(classes, 12); ++k) {
      groups += text_of(k == 0 ? "" : "; ", "class ", k + 1, ": ", names(c_.classes[k]));
    }
    if (classes > 12) groups += text_of("; and ", classes - 12, " more");
    said_.push_back("Platforms of one class agree in every bit. " + groups + ".");
  }

  std::string split_words(const Groups& groups) const {
    std::string text;
    // With semicolons, since names have commas between them.
    for (size_t g = 0; g < std::min(groups.size(), kFew); ++g) {
      text += text_of(g == 0 ? "" : "; ", names(groups[g]),
                      g == 0 ? (groups[g].size() == 1 ? " gives one result" : " give one result") : " another");
    }
    if (groups.size() > kFew)
      text += text_of("; ", counted(groups.size() - kFew, "more group", "more groups"), " yet others");
    return text;
  }

  void kernels(const TracedValue& value) {
    std::map<std::string, std::vector<size_t>> by_kernel;
    for (size_t p = 0; p < value.at.size(); ++p) {
      if (value.at[p] != nullptr && !value.at[p]->kernel.empty()) by_kernel[value.at[p]->kernel].push_back(p);
    }
    if (by_kernel.empty()) return;
    std::string text = "Kernels that the engines name for it: ";
    size_t n = 0;
    for (const auto& [kernel, platforms] : by_kernel) {
      if (n == kFew) break;
      text += text_of(n++ == 0 ? "" : "; ", "'", shortened(kernel), "' on ", names(platforms));
    }
    if (by_kernel.size() > kFew) text += text_of("; and ", by_kernel.size() - kFew, " more");
    said_.push_back(text + ".");
  }

  void first_fork() {
    if (e_.trace.platforms < 2) {
      said_.push_back(
          "Operators were recorded on fewer than two platforms, so that the records do not say where the outputs "
          "part.");
      return;
    }
    if (e_.forks.empty()) {
      said_.push_back("No recorded value differs between platforms.");
      return;
    }
    const TracedFork& earliest = e_.forks.front();
    const TracedValue& first_value = e_.trace.values[earliest.value];
    if (!e_.first) {
      said_.push_back(
          text_of("The first value in execution order that differs is of ", place(first_value), ", in ",
                  first_value.class_count, " classes. Whether this operator makes the difference is not known: ",
                  earliest.why_unknown.empty() ? "its recorded inputs differ, too" : earliest.why_unknown, "."));
      kernels(first_value);
      return;
    }
    const TracedFork& fork = e_.forks[*e_.first];
    const TracedValue& value = e_.trace.values[fork.value];
    if (fork.region.size() == 1) {
      said_.push_back(text_of("The first operator whose outputs differ while its inputs agree is ", place(value),
                              ". Given equal inputs, ", split_words(fork.splits.front()), "."));
    } else {
      said_.push_back(text_of("The first difference that arises from equal inputs shows at ", place(value),
                              "; it is made there or by one of ", fork.region.size() - 1,
                              " operators before it whose values were not recorded everywhere, the earliest being ",
                              node(fork.region.front()), ". Given equal inputs, ", split_words(fork.splits.front()),
                              "."));
    }
    kernels(value);
    if (*e_.first > 0) {
      said_.push_back(text_of("Before it in execution order, ", counted(*e_.first, "value differs", "values differ"),
                              " of which that cannot be said, the first being of ", place(first_value), "."));
    }
  }

  // How far the platforms that are alike at the first fork stay so.
  void agreement() {
    if (e_.forks.empty()) return;
    const size_t at = e_.first.value_or(0);
    std::map<int, std::vector<size_t>> groups;
    const TracedValue& value = e_.trace.values[e_.forks[at].value];
    for (size_t p = 0; p < value.classes.size(); ++p) {
      if (value.classes[p] != 0) groups[value.classes[p]].push_back(p);
    }
    std::vector<std::string> throughout, from_here;
    size_t said = 0;
    for (const auto& [k, members] : groups) {
      if (members.size() < 2 || said == kFew) continue;
      ++said;
      if (const TracedFork* parts = parting(members, at + 1, e_.forks.size())) {
        said_.push_back(text_of("Alike at this operator, ", names(members), " first differ behind it at ",
                                place(e_.trace.values[parts->value]), "."));
      } else {
        (parting(members, 0, at) == nullptr ? throughout : from_here).push_back(names(members));
      }
    }
    groups_said("Alike in every value that was recorded: ", throughout);
    groups_said("Alike at this operator and in every value behind it, though not before: ", from_here);
  }

  void groups_said(const char* begin, const std::vector<std::string>& groups) {
    std::string text = begin;
    for (size_t i = 0; i < groups.size(); ++i) text += (i == 0 ? "" : "; ") + groups[i];
    if (!groups.empty()) said_.push_back(text + ".");
  }

  // The first of these forks where the platforms are not alike; null: there is none.
  const TracedFork* parting(const std::vector<size_t>& members, size_t begin, size_t end) const {
    for (size_t f = begin; f < end; ++f) {
      int seen = 0;
      for (const size_t p : members) {
        const int k = e_.trace.values[e_.forks[f].value].classes[p];
        if (k != 0 && seen != 0 && k != seen) return &e_.forks[f];
        if (k != 0) seen = k;
      }
    }
    return nullptr;
  }

  static std::string set_words(const SeparatingSet& set) {
    std::string text;
    for (size_t i = 0; i < set.fields.size(); ++i) {
      text += text_of(i == 0 ? "" : i + 1 == set.fields.size() ? " and " : ", ", "'", shortened(set.fields[i][0]), "'");
      if (set.fields[i].size() == 1) continue;
      std::vector<std::string> others;
      for (size_t k = 1; k < set.fields[i].size(); ++k) others.push_back(shortened(set.fields[i][k]));
      text += text_of(" (or ", join_quoted(others, 3), ", recorded alike)");
    }
    return text;
  }

  void separation(const Separation& s, const std::vector<size_t>& platforms, const char* where) {
    if (s.classes < 2) return;
    if (s.indistinguishable) {
      said_.push_back(
          text_of(where, ": ", names({platforms[s.indistinguishable->first]}), " and ",
                  names({platforms[s.indistinguishable->second]}),
                  " have the same records and different results, so that no recorded field separates the classes."));
    } else if (!s.sets.empty() && !s.sets.front().exact && s.sets.front().values * 4 > s.items * 3) {
      said_.push_back(text_of(where, ", no few recorded fields say more of the ", s.classes,
                              " classes than which platform it was."));
    } else if (!s.sets.empty()) {
      const SeparatingSet& best = s.sets.front();
      std::string text =
          text_of(where, ", ", set_words(best), best.fields.size() == 1 ? " separates" : " together separate", " the ",
                  s.classes, " classes: ", s.items, " platforms, ", counted(best.values, "value", "values"),
                  ", none of which is in two classes", best.exact ? ", and each class has one value" : "",
                  ". It rests on the ", best.repeated, " platforms that share theirs with another");
      if (best.partial > 0) text += "; that a platform records none counts as a value";
      text += ".";
      if (s.sets.size() > 1)
        text += text_of(s.sets[1].fields.size() == 1 ? " So does " : " So do ", set_words(s.sets[1]),
                        s.sets.size() > 2 ? ", among others." : ".");
      said_.push_back(text + " That is what the records show, and no proof of a cause.");
    } else {
      said_.push_back(text_of(where, ", no set of up to three recorded fields separates the ", s.classes,
                              " classes with more than one platform to a value."));
    }
    contrasts(s, platforms);
  }

  void contrasts(const Separation& s, const std::vector<size_t>& platforms) {
    size_t said = 0;
    for (const Contrast& c : s.contrasts) {
      if (c.differing == 0 || said == kFew) continue;
      ++said;
      const auto [a, b] = c.differing_pair;
      std::string text = text_of(names({platforms[a]}), " and ", names({platforms[b]}),
                                 " have different results and differ in ", set_words({.fields = {c.fields}}), " alone");
      if (c.differing > 1) {
        text += text_of(c.differing == 2 ? ", as does " : ", as do ",
                        counted(c.differing - 1, "other pair", "other pairs"));
      }
      if (c.agreeing > 0) {
        text += text_of("; the results of ", counted(c.agreeing, "pair that differs", "pairs that differ"),
                        " in nothing else agree");
      }
      said_.push_back(text + ".");
    }
  }

  void layers() {
    if (e_.forks.empty()) return;
    size_t shared = 0;
    for (const TracedValue& v : e_.trace.values) shared += v.recorded > 1;
    std::string text = text_of("Of ", shared, " values that several platforms recorded, ", e_.forks.size(),
                               " differ: ", e_.count(Origin::kIntroduced), " where the difference is introduced, ",
                               e_.count(Origin::kInherited), " inherited, ", e_.count(Origin::kUnknown),
                               " unknown, as far as the records say.");
    const auto shrinks = std::ranges::count_if(
        e_.forks, [&](const TracedFork& f) { return f.input_classes > e_.trace.values[f.value].class_count; });
    if (shrinks > 0) {
      text += text_of(" At ", counted(static_cast<size_t>(shrinks), "of these", "of these"),
                      " there are fewer classes than among the inputs: differences vanish.");
    }
    said_.push_back(std::move(text));
  }

  void distance() {
    if (c_.classes.size() < 2) return;
    if (c_.too_many_classes()) {
      said_.push_back(text_of("How far the outputs lie apart was not looked at: more than ",
                              deviation::kMostComparedClasses, " classes are not compared with one another."));
      return;
    }
    if (!c_.overall) {
      said_.push_back("How far the outputs lie apart is not known: not all of their tensors were kept.");
      return;
    }
    const deviation::PairFigures& f = *c_.overall;
    std::string text = "Between any two outputs, ";
    if (f.remaining_precision) {
      text += text_of("at least ",
                      counted(static_cast<size_t>(*f.remaining_precision), "significand bit", "significand bits"),
                      " of each element agree, ");
    }
    text += text_of("the largest difference is ", three_digits(f.absolute));
    if (f.ulp && *f.ulp != UINT64_MAX) text += text_of(" (", *f.ulp, " ulp)");
    if (c_.churn) {
      text += text_of("; of ", counted(c_.churn->rows, "label", "labels"), " of '", shortened(c_.label_output), "', ",
                      c_.churn->any_differ > 0
                          ? text_of(three_digits(c_.churn->any_differ * 100), " % are not the same everywhere")
                          : std::string("all are the same everywhere"));
    }
    said_.push_back(text + ".");
  }

  void warnings() {
    std::vector<size_t> itself, tapped;
    for (size_t p = 0; p < c_.platforms.size(); ++p) {
      if (c_.platforms[p].disagrees_with_itself()) itself.push_back(p);
      if (c_.platforms[p].changed_by_a_tap) tapped.push_back(p);
    }
    if (!itself.empty()) said_.push_back(text_of("Not the same from run to run: ", names(itself), "."));
    if (!tapped.empty()) {
      said_.push_back(text_of(
          "Recording operators changes the output of ", names(tapped),
          tapped.size() == 1 ? ": what is said of its operators is about another computation than its output."
                             : ": what is said of their operators is about another computation than their output."));
    }
    if (c_.groups.size() > 1) {
      said_.push_back(text_of("Further apart than rounding explains: ", names(c_.groups[1]), " from ",
                              names(c_.groups[0]),
                              ". Another model, another input or a broken device would look like this."));
    }
  }

  const Explanation& e_;
  const deviation::Comparison& c_;
  std::vector<std::string> said_;
};

}  // namespace

std::vector<std::string> in_words(const Explanation& explanation) { return Words(explanation).all(); }

}  // namespace isobit::lab::explain
