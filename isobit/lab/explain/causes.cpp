#include "isobit/lab/explain/causes.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::explain {
namespace {

// One platform of each class of the replay, and those of the records that the replay could not run.
std::vector<size_t> platforms_to_ask(const Explanation& e, const Replay& replay) {
  std::vector<size_t> chosen;
  std::set<int> classes;
  for (size_t i = 0; i < replay.platforms.size(); ++i) {
    if (classes.insert(replay.classes[i]).second) chosen.push_back(replay.platforms[i]);
  }
  const deviation::TracedValue& value = e.trace.values[e.forks[replay.fork].value];
  for (size_t p = 0; p < value.at.size(); ++p) {
    if (value.at[p] != nullptr && std::ranges::count(replay.platforms, p) == 0) chosen.push_back(p);
  }
  if (chosen.size() > kMaxTrees) chosen.resize(kMaxTrees);
  return chosen;
}

class CauseWords {
 public:
  CauseWords(const Explanation& e, const Causes& c) : e_(e), c_(c) {}

  std::vector<std::string> all() {
    if (!c_.replays.problem.empty()) {
      said_.push_back(text_of("Nothing was replayed: ", c_.replays.problem, "."));
      return std::move(said_);
    }
    replays();
    if (c_.first) {
      diagnoses();
      trials();
      trees();
    }
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
    size_t introduced = 0, inherited = 0, failed = 0, other = 0;
    for (const Replay& r : c_.replays.forks) {
      failed += !r.problem.empty() && r.platforms.empty();
      other += !r.platforms.empty() && !r.reproduced;
      introduced += r.origin() == Origin::kIntroduced;
      inherited += r.origin() == Origin::kInherited;
    }
    std::string text =
        text_of("Replayed on this machine, each time on the inputs that ", label(c_.replays.reference->place),
                " had: of ", c_.replays.forks.size(), " values that differ, ", introduced,
                " come out different on equal inputs and ", inherited, " the same on all of ",
                c_.replays.platforms.size(), " platforms, so that their differences were inherited");
    if (other > 0) text += text_of("; of ", other, " nothing is said, since the recorded bits did not come out again");
    if (failed > 0) text += text_of("; ", failed, " could not be run");
    if (c_.replays.beyond > 0) text += text_of("; ", c_.replays.beyond, " more were not looked at");
    said_.push_back(text + ".");
    if (c_.first) first();
  }

  void first() {
    const Replay& r = c_.replays.forks[*c_.first];
    std::map<int, std::vector<size_t>> groups;
    for (size_t i = 0; i < r.platforms.size(); ++i) groups[r.classes[i]].push_back(r.platforms[i]);
    std::string text =
        text_of("The first of those that introduce a difference makes ", value(r), ": given equal inputs, ");
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
    std::vector<std::string> one_way, other_library;
    for (const Trial& t : c_.trials) {
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
  }

  void say_list(const char* begin, const std::vector<std::string>& list, const char* end) {
    constexpr size_t kMost = 6;
    if (list.empty()) return;
    std::string text = begin;
    for (size_t i = 0; i < std::min(list.size(), kMost); ++i) text += (i == 0 ? "" : "; ") + list[i];
    if (list.size() > kMost) text += text_of("; and ", list.size() - kMost, " more");
    said_.push_back(text + end);
  }

  static std::vector<std::string> parts(const std::string& text) {
    std::vector<std::string> found;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find("; ", at), text.size());
      found.push_back(text.substr(at, end - at));
      at = end + 2;
    }
    return found;
  }

  // What is not the same of all kernels that have a tree.
  std::string peculiar(const KernelTree& tree) const {
    std::string text;
    for (const std::string& part : parts(tree.rounding)) {
      const bool common = std::ranges::all_of(c_.trees, [&](const KernelTree& other) {
        const auto theirs = parts(other.rounding);
        return other.digest.empty() || std::ranges::count(theirs, part) > 0;
      });
      if (!common) text += (text.empty() ? "" : "; ") + part;
    }
    return text;
  }

  void trees() {
    if (!c_.asked.sum) {
      said_.push_back(text_of("The order of its sums was not asked: ", sentence(c_.asked.problem)));
      return;
    }
    // One order may go with other roundings: of products, say.
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> alike;
    for (const KernelTree& t : c_.trees) {
      if (!t.digest.empty()) alike[{t.digest, t.rounding}].push_back(t.platform);
    }
    std::string text = text_of("Asked for ", c_.asked.words, ", the kernels add in ", alike.size(),
                               alike.size() == 1 ? " way" : " ways");
    for (const KernelTree& t : c_.trees) {
      const auto who = alike.find({t.digest, t.rounding});
      if (who == alike.end() || who->second.front() != t.platform) continue;
      const std::string own = peculiar(t);
      text += text_of("; ", names(who->second), ": ", t.words, own.empty() ? "" : ", " + own);
    }
    if (!alike.empty()) said_.push_back(text + ".");
    for (const KernelTree& t : c_.trees) {
      if (!t.digest.empty()) continue;
      said_.push_back(text_of("Of the order in which ", label(t.platform),
                              " adds nothing is known: ", sentence(t.problem.empty() ? t.words : t.problem)));
    }
    contradictions();
  }

  // What kernels answer and what the records say of the operator itself need not fit.
  void contradictions() {
    const deviation::TracedValue& value = e_.trace.values[e_.forks[c_.replays.forks[*c_.first].fork].value];
    std::vector<std::string> same_bits, same_order;
    std::vector<const KernelTree*> seen;  // one for each class and order
    for (const KernelTree& t : c_.trees) {
      const int k = value.classes[t.platform];
      if (t.digest.empty() || k == 0) continue;
      const auto class_is = [&](const KernelTree* other) { return value.classes[other->platform] == k; };
      const auto adds_alike = [&](const KernelTree* other) {
        return other->digest == t.digest && other->rounding == t.rounding;
      };
      const auto both = [&](const KernelTree* other) { return class_is(other) && adds_alike(other); };
      if (std::ranges::any_of(seen, both)) continue;
      const auto pair_with = [&](const KernelTree* other) {
        return text_of(label(other->platform), " and ", label(t.platform));
      };
      if (const auto other = std::ranges::find_if(seen, class_is); other != seen.end())
        same_bits.push_back(pair_with(*other));
      if (const auto other = std::ranges::find_if(seen, adds_alike); other != seen.end()) {
        same_order.push_back(pair_with(*other));
      }
      seen.push_back(&t);
    }
    const char* const end = ". At least one of each two computes this operator otherwise than what was asked of it.";
    say_list("Recorded with the same bits at this operator, though they add in different ways when they are asked: ",
             same_bits, end);
    say_list("Recorded with different bits at this operator, though they add alike when they are asked: ", same_order,
             end);
  }

  const Explanation& e_;
  const Causes& c_;
  std::vector<std::string> said_;
};

}  // namespace

namespace {

std::optional<size_t> first_introduced(const Replays& replays) {
  const auto first = std::ranges::find(replays.forks, Origin::kIntroduced, &Replay::origin);
  if (first == replays.forks.end()) return std::nullopt;
  return static_cast<size_t>(first - replays.forks.begin());
}

Expected<Causes> causes_in_training(const Explanation& explanation, const CausesRequest& request) {
  ISOBIT_TRY(const TrainingReplays training,
             replay_training(explanation, {.job = request.replay.inference.model,
                                           .overrides = request.overrides,
                                           .max_memory = request.replay.inference.max_memory,
                                           .own = request.replay.own}));
  Causes causes;
  causes.replays = training.replays;
  causes.first = first_introduced(causes.replays);
  if (!causes.first) return causes;
  causes.diagnoses = diagnose_forks(explanation, training);
  causes.asked.problem = "of a training only the operator itself is asked";
  return causes;
}

}  // namespace

Expected<Causes> find_causes(const Explanation& explanation, const deviation::TensorSource& tensors,
                             const CausesRequest& request) {
  if (explanation.comparison.subject.kind == records::SubjectKind::kTraining) {
    return causes_in_training(explanation, request);
  }
  ISOBIT_TRY(Replayer replayer, Replayer::open(explanation, tensors, request.replay));
  Causes causes;
  ISOBIT_TRY(causes.replays, replayer.replay());
  causes.first = first_introduced(causes.replays);
  if (!causes.first) return causes;
  const Replay& replay = causes.replays.forks[*causes.first];
  causes.diagnoses = diagnose_forks(explanation, replayer, causes.replays);
  causes.asked = asked_of(replayer.part(replay), replayer.feeds());
  causes.trials = try_changes(replayer, causes.replays, replay, causes.asked.sum.has_value());
  if (!causes.asked.sum) return causes;
  for (const size_t p : platforms_to_ask(explanation, replay)) {
    if (request.replay.own.contains(explanation.comparison.platforms[p].record.name)) continue;  // no text names it
    causes.trees.push_back(tree_of(explanation, p, *causes.asked.sum, request.python));
  }
  return causes;
}

std::vector<std::string> in_words(const Explanation& explanation, const Causes& causes) {
  return CauseWords(explanation, causes).all();
}

}  // namespace isobit::lab::explain
