// What replays, trials and kernels say, in sentences.
#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/lab/explain/causes_internal.h"

namespace isobit::lab::explain {
namespace {

class CauseWords {
 public:
  CauseWords(const Explanation& e, const Causes& c) : e_(e), c_(c) {}

  std::vector<std::string> all() {
    if (!c_.replays.problem.empty()) {
      said_.push_back(text_of("Nothing was replayed: ", c_.replays.problem, "."));
      return std::move(said_);
    }
    replays();
    if (c_.earlier) earlier();
    if (c_.first) {
      first();
      diagnoses();
      trials();
      trees();
    }
    for (const std::string& doubt : c_.replays.doubts) said_.push_back(text_of("Beware: ", doubt, "."));
    not_again();
    for (const std::string& remark : c_.replays.remarks) said_.push_back(text_of("Not replayed: ", remark, "."));
    return std::move(said_);
  }

 private:
  std::string label(size_t p) const { return shortened(e_.comparison.platforms[p].label); }
  std::string names(const std::vector<size_t>& platforms) const { return names_of(e_.comparison, platforms); }
  std::string value(const Replay& r) const {
    return text_of("'", shortened(e_.trace.values[e_.forks[r.fork].value].name), "'");
  }
  std::string nodes(const Replay& r) const {
    std::vector<std::string> list;
    for (const std::string& name : r.nodes) list.push_back(shortened(name));
    return text_of(r.nodes.size() == 1 ? "the operator " : "the operators ", join_quoted(list, 3));
  }

  static std::string sentence(const std::string& words) { return words.ends_with('.') ? words : words + "."; }

  void replays() {
    size_t introduced = 0, inherited = 0, failed = 0, other = 0, by_others = 0;
    for (const Replay& r : c_.replays.forks) {
      failed += !r.problem.empty() && r.platforms.empty();
      other += !r.platforms.empty() && !r.reproduced;
      introduced += r.origin() == Origin::kIntroduced;
      inherited += r.origin() == Origin::kInherited;
      by_others += r.origin() == Origin::kInherited && e_.forks[r.fork].origin == Origin::kIntroduced;
    }
    std::string text = text_of(
        "Replayed on this machine, each time on the inputs that ", label(c_.replays.reference->place), " had: of ",
        c_.replays.forks.size(), " values that differ, ", introduced, " come out different on equal inputs and ",
        inherited, " the same on ", that_ran(), ", so that among these their differences were inherited");
    if (by_others > 0) text += text_of(" (at ", by_others, " of them the records show others to introduce one)");
    if (other > 0) text += text_of("; of ", other, " nothing is said, since the recorded bits did not come out again");
    if (failed > 0) text += text_of("; ", failed, " could not be run");
    if (c_.replays.beyond > 0) text += text_of("; ", c_.replays.beyond, " more were not looked at");
    said_.push_back(text + ".");
    if (!c_.replays.without_inputs.empty()) {
      said_.push_back(text_of("Only what the labs hold the inputs of was replayed: ", c_.replays.without_inputs, "."));
    }
  }

  // On how many platforms those operators ran of which all platforms made the same; not every one runs everywhere.
  std::string that_ran() const {
    size_t least = SIZE_MAX, most = 0;
    for (const Replay& r : c_.replays.forks) {
      if (r.origin() != Origin::kInherited) continue;
      least = std::min(least, r.platforms.size());
      most = std::max(most, r.platforms.size());
    }
    if (least == most) return text_of("all of the ", most, " platforms that ran");
    return text_of("all platforms that ran", most == 0 ? "" : text_of(" (", least, " to ", most, ")"));
  }

  // What only the records show, of platforms that are not replayed.
  void earlier() {
    const TracedFork& fork = e_.forks[*c_.earlier];
    const auto of_fork = std::ranges::find(c_.replays.forks, *c_.earlier, &Replay::fork);
    const bool ran = of_fork != c_.replays.forks.end() && !of_fork->not_again.empty();
    said_.push_back(text_of("The earliest difference, of '", shortened(e_.trace.values[fork.value].name), "', is ",
                            ran ? "one of which the recorded bits do not come out again here"
                                : "between platforms that this program cannot run by itself",
                            ": the records show that it is introduced there, and replays say nothing of it."));
    std::vector<size_t> not_asked;
    for (size_t i = c_.earlier_trees.size(); i < fork.splits.front().size(); ++i) {
      not_asked.push_back(fork.splits.front()[i].front());
    }
    tree_words(c_.earlier_asked, c_.earlier_trees, not_asked);
  }

  // Of each platform where its records do not come out again first.
  void not_again() {
    std::set<size_t> seen;
    for (const Replay& r : c_.replays.forks) {
      for (const size_t p : r.not_again) {
        if (!seen.insert(p).second) continue;
        said_.push_back(text_of("Beware: what was recorded of ", label(p), " at ", value(r),
                                " does not come out again here from the same inputs: another library or machine, or a ",
                                "false record. Nothing is said of it there."));
      }
    }
  }

  void first() {
    const Replay& r = c_.replays.forks[*c_.first];
    std::map<int, std::vector<size_t>> groups;
    for (size_t i = 0; i < r.platforms.size(); ++i) groups[r.classes[i]].push_back(r.platforms[i]);
    std::string text =
        text_of("The first ", c_.earlier ? "where replays differ" : "of those that introduce a difference", " makes ",
                value(r), ": given equal inputs, ");
    size_t n = 0;
    for (const auto& [k, members] : groups) {
      text += text_of(n == 0 ? "" : "; ", names(members),
                      n == 0 ? (members.size() == 1 ? " makes one result" : " make one result") : " another");
      ++n;
    }
    said_.push_back(text + text_of(". ", r.nodes.size() == 1 ? "Only " : "Run were ", nodes(r),
                                   r.nodes.size() == 1 ? " ran." : ", which no record tells apart."));
  }

  void diagnoses() {
    for (const DiagnosedPair& pair : c_.diagnoses) {
      const Diagnosis& d = pair.diagnosis;
      said_.push_back(text_of("Between ", label(pair.a), " and ", label(pair.b), ", at ",
                              value(c_.replays.forks[pair.replay]), ": ", in_words(d.kind), ". ", d.words));
      for (const Kind kind : d.also) said_.back() += text_of(" With it goes ", in_words(kind), ".");
    }
  }

  void trials() {
    std::map<std::pair<size_t, size_t>, bool> agreed;  // pairs for which some change was tried
    std::set<std::pair<size_t, size_t>> untried;       // and those for which one could not be
    std::vector<std::string> one_way, other_library;
    for (const Trial& t : c_.trials) {
      if (!t.problem.empty()) {
        untried.insert(std::minmax(t.changed, t.like));
        continue;
      }
      bool& some = agreed[std::minmax(t.changed, t.like)];
      some = some || t.agrees;
      if (!t.agrees) continue;
      if (t.is_like) {
        (t.change == Change::kLibrary ? other_library : one_way)
            .push_back(text_of(label(t.changed), " and ", label(t.like), " (", name_of(t.change), ": ", t.from, ", ",
                               t.to, ")"));
      } else {
        said_.push_back(text_of("With ", t.to, " in place of ", t.from, " as its ", name_of(t.change),
                                " and nothing else changed, ", label(t.changed), " makes the bits of ", label(t.like),
                                " (tried at this operator as ", shortened(t.platform), ")."));
      }
    }
    // Those of one library first: they say most.
    one_way.insert(one_way.end(), other_library.begin(), other_library.end());
    say_list("These differ in one thing alone, and in their bits: ", one_way, ".");
    for (const auto& [pair, some] : agreed) {
      if (some) continue;
      said_.push_back(text_of("No single change among those that were tried makes ", label(pair.first), " and ",
                              label(pair.second), " agree."));
    }
    for (const auto& pair : untried) {
      if (agreed.contains(pair)) continue;
      said_.push_back(text_of("No single change between ", label(pair.first), " and ", label(pair.second),
                              " could be tried here."));
    }
  }

  void say_list(const char* begin, const std::vector<std::string>& list, const char* end) {
    constexpr size_t kMost = 6;
    if (list.empty()) return;
    std::string text = begin;
    for (size_t i = 0; i < std::min(list.size(), kMost); ++i) text += (i == 0 ? "" : "; ") + list[i];
    if (list.size() > kMost) text += text_of("; and ", list.size() - kMost, " more");
    said_.push_back(text + end);
  }

  // What is not the same of all kernels that have a tree.
  static std::string peculiar(const KernelTree& tree, const std::vector<KernelTree>& trees) {
    std::string text;
    for (const std::string& part : findings_of(tree)) {
      const bool common = std::ranges::all_of(trees, [&](const KernelTree& other) {
        const auto theirs = findings_of(other);
        return other.digest.empty() || std::ranges::count(theirs, part) > 0;
      });
      if (!common) text += (text.empty() ? "" : "; ") + part;
    }
    return text;
  }

  void trees() {
    tree_words(c_.asked, c_.trees, c_.not_asked);
    if (c_.asked.sum) contradictions();
  }

  void tree_words(const AskedSum& asked, const std::vector<KernelTree>& trees, const std::vector<size_t>& not_asked) {
    if (!asked.sum) {
      said_.push_back(text_of("The order of its sums was not asked: ", sentence(asked.problem)));
      return;
    }
    // One order may go with other roundings: of products, say.
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> alike;
    for (const KernelTree& t : trees) {
      if (!t.digest.empty()) alike[{t.digest, t.rounding}].push_back(t.platform);
    }
    std::string text =
        text_of("Asked for ", asked.words, ", the kernels add in ", alike.size(), alike.size() == 1 ? " way" : " ways");
    for (const KernelTree& t : trees) {
      const auto who = alike.find({t.digest, t.rounding});
      if (who == alike.end() || who->second.front() != t.platform) continue;
      const std::string own = peculiar(t, trees);
      text += text_of("; ", names(who->second), ": ", t.words, own.empty() ? "" : ", " + own);
    }
    if (!alike.empty()) said_.push_back(text + ".");
    for (const KernelTree& t : trees) {
      if (!t.digest.empty()) continue;
      const bool known = t.problem.empty();
      said_.push_back(text_of(known ? "" : "Not known is the order in which ", label(t.platform),
                              known ? ": " : " adds: ", sentence(known ? t.words : t.problem)));
    }
    if (!not_asked.empty()) {
      said_.push_back(text_of("Not asked, since no more than ", kMaxTrees, " kernels are: ", names(not_asked), "."));
    }
  }

  void again() {
    for (const AskedAgain& pair : c_.again) {
      if (!pair.is_settled()) continue;
      const auto words = [&](const KernelTree& t) {
        const std::string own = peculiar(t, pair.trees);
        return text_of(label(t.platform), ": ", t.words, own.empty() ? "" : ", " + own);
      };
      said_.push_back(text_of(label(pair.trees[0].platform), " and ", label(pair.trees[1].platform),
                              " add alike there, but not where they differ. Asked for ", pair.asked.words, ", ",
                              words(pair.trees[0]), "; ", words(pair.trees[1]), "."));
    }
  }

  // That two kernels add in different ways accounts for their difference where it makes all of it. Who was asked again
  // adds otherwise elsewhere, though the elements that were compared may not show it.
  void accounted() {
    std::set<size_t> elsewhere;
    for (const AskedAgain& again : c_.again) {
      for (const KernelTree& tree : again.trees) elsewhere.insert(tree.platform);
    }
    std::vector<size_t> whole, part;
    size_t like = 0;
    for (const DiagnosedPair& pair : c_.diagnoses) {
      if (pair.replay != *c_.first) continue;
      like = pair.a;  // of all of them
      const bool made = pair.diagnosis.confirmed || pair.diagnosis.together;
      (made && !elsewhere.contains(pair.b) ? whole : part).push_back(pair.b);
    }
    const auto between = [&](const std::vector<size_t>& others) {
      return text_of("between ", label(like), " and ", others.size() == 1 ? "" : "each of ", names(others));
    };
    if (!whole.empty()) {
      said_.push_back(
          text_of("That accounts for the difference ", between(whole), " in every element that was compared."));
    }
    if (!part.empty()) {
      said_.push_back(text_of("It is not shown that this accounts for the whole difference ", between(part), "."));
    }
  }

  // What kernels answer and what the records say of the operator itself need not fit.
  void contradictions() {
    again();
    const auto settled = [&](const Pair& pair) {
      return std::ranges::any_of(c_.again, [&](const AskedAgain& again) {
        return again.is_settled() && again.trees[0].platform == pair.first && again.trees[1].platform == pair.second;
      });
    };
    Contradictions found = contradictions_of(e_, c_);
    std::erase_if(found.same_order, settled);
    const auto names_of_pairs = [&](const std::vector<Pair>& pairs) {
      std::vector<std::string> list;
      for (const auto& [a, b] : pairs) list.push_back(text_of(label(a), " and ", label(b)));
      return list;
    };
    if (found.same_bits.empty() && found.same_order.empty() && found.compared > 1) {
      said_.push_back(
          "Of the kernels that were asked and had the same inputs, those of different bits add in different ways or "
          "round products differently, and those of the same bits alike.");
      accounted();
    }
    const char* const end = ". At least one of each two computes this operator otherwise than what was asked of it.";
    say_list("Recorded with the same bits at this operator, though they add in different ways when they are asked: ",
             names_of_pairs(found.same_bits), end);
    say_list("Recorded with different bits at this operator, though they add alike when they are asked: ",
             names_of_pairs(found.same_order), end);
  }

  const Explanation& e_;
  const Causes& c_;
  std::vector<std::string> said_;
};

}  // namespace

std::vector<std::string> in_words(const Explanation& explanation, const Causes& causes) {
  return CauseWords(explanation, causes).all();
}

}  // namespace isobit::lab::explain
