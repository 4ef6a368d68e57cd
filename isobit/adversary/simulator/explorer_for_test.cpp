#include "isobit/adversary/simulator/explorer_for_test.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "isobit/adversary/simulator/transitions_for_test.h"
#include "isobit/base/text.h"

namespace isobit::adversary::simulator {
namespace {

using dispute::Party;
using Step = Transitions::Step;

// How many of each may still happen.
struct FaultsLeft {
  int lost = 0, twice = 0, party_crashes = 0, referee_crashes = 0;
};

struct World {
  int referee = 0, party = 0;  // states
  std::vector<int> under_way;  // messages, sorted; each once
  FaultsLeft left;
  std::string key() const {
    std::string k = text_of(referee, ",", party, ",", left.lost, left.twice, left.party_crashes, left.referee_crashes);
    for (const int m : under_way) k += text_of(",", m);
    return k;
  }
};

// What is best that can still come from a state, of one thing that is counted.
struct Best {
  int count = -1, length = 0;
  size_t action = 0;  // of those of the state
  bool operator<(const Best& o) const { return std::pair(count, length) < std::pair(o.count, o.length); }
};

struct Info {
  bool is_open = true;  // on the way that is looked at
  double schedules = 0;
  std::array<Best, 3> best;  // actions, repeats, crashes
};

struct Action {
  std::string text;
  World next;
  std::optional<dispute::Outcome> ended;
  bool repeats = false, crashes = false;
};

class Explorer {
 public:
  Explorer(Material& material, const Tale& tale, const Bounds& bounds)
      : nodes_(material, tale), tale_(tale), bounds_(bounds) {}

  Explored explore() {
    out_.longest.tale = out_.most_repeats.tale = out_.most_crashes.tale = tale_;
    out_.longest.bounds = out_.most_repeats.bounds = out_.most_crashes.bounds = bounds_;
    World first;
    first.left = {bounds_.lost, bounds_.twice, bounds_.party_crashes, bounds_.referee_crashes};
    first.party = nodes_.first_party();
    const Step begun = nodes_.first_referee();
    first.referee = begun.next;
    first.under_way = begun.out;
    visit(first);
    if (out_.problem.empty()) out_.problem = nodes_.problem();
    if (!out_.problem.empty()) return std::move(out_);
    out_.states = seen_.size();
    out_.schedules = seen_.at(first.key()).schedules;
    out_.transitions = nodes_.count();
    out_.endings = nodes_.records();
    for (const auto& [outcome, n] : outcomes_) out_.outcomes.emplace_back(name_of(outcome), n);
    std::array<Schedule*, 3> wanted = {&out_.longest, &out_.most_repeats, &out_.most_crashes};
    for (size_t i = 0; i < 3; ++i) follow(first, i, *wanted[i]);
    return std::move(out_);
  }

 private:
  static void add(std::vector<int>& under_way, const std::vector<int>& more) {
    for (const int m : more) {
      const auto at = std::lower_bound(under_way.begin(), under_way.end(), m);
      if (at == under_way.end() || *at != m) under_way.insert(at, m);
    }
  }

  Action to_referee(const World& w, int input, std::string text) {
    const Step& step = nodes_.of_referee(w.referee, input);
    Action a{std::move(text), w, step.ended, step.changed_nothing && input >= 0, false};
    a.next.referee = step.next;
    add(a.next.under_way, step.out);
    return a;
  }
  Action to_party(const World& w, int input, std::string text) {
    const Step& step = nodes_.of_party(w.party, input);
    Action a{std::move(text), w, std::nullopt, step.changed_nothing && input >= 0, false};
    a.next.party = step.next;
    add(a.next.under_way, step.out);
    return a;
  }
  Action deliver(const World& w, int m, const std::string& text) {
    return nodes_.is_to_referee(m) ? to_referee(w, m, text) : to_party(w, m, text);
  }

  std::vector<Action> actions(const World& w) {
    std::vector<Action> out;
    for (size_t i = 0; i < w.under_way.size(); ++i) {
      const int m = w.under_way[i];
      World without = w;
      without.under_way.erase(without.under_way.begin() + static_cast<std::ptrdiff_t>(i));
      out.push_back(deliver(without, m, "deliver " + nodes_.label(m)));
      if (w.left.twice > 0) {
        out.push_back(deliver(w, m, "deliver twice " + nodes_.label(m)));
        --out.back().next.left.twice;
      }
      if (w.left.lost > 0) {
        out.push_back({"lose " + nodes_.label(m), without, std::nullopt, false, false});
        --out.back().next.left.lost;
      }
      // The machine saves, and dies before it sends.
      const int crashes = nodes_.is_to_referee(m) ? w.left.referee_crashes : w.left.party_crashes;
      if (crashes > 0) out.push_back(die_behind(without, m));
    }
    if (w.left.party_crashes > 0) {
      out.push_back(to_party(w, Transitions::kCrash, "crash party"));
      --out.back().next.left.party_crashes;
      out.back().crashes = true;
    }
    if (w.left.referee_crashes > 0) {
      out.push_back(to_referee(w, Transitions::kCrash, "crash referee"));
      --out.back().next.left.referee_crashes;
      out.back().crashes = true;
    }
    const std::vector<int> says = nodes_.sayable(w.referee);
    for (size_t v = 0; v < says.size(); ++v) out.push_back(to_referee(w, says[v], text_of("say ", v)));
    if (w.under_way.empty() || !bounds_.timely) out.push_back(to_referee(w, Transitions::kTime, "time"));
    // What changes nothing at all is no step.
    std::erase_if(out, [&](const Action& a) { return !a.ended && a.next.key() == w.key(); });
    return out;
  }

  Action die_behind(const World& without, int m) {
    World w = without;
    Action a;
    if (!nodes_.is_to_referee(m)) {
      w.party = nodes_.of_party(w.party, m).next;
      a = to_party(w, Transitions::kCrash, "die behind " + nodes_.label(m));
      --a.next.left.party_crashes;
    } else {
      const Step& taken = nodes_.of_referee(w.referee, m);
      // As it ends without a crash: it is saved.
      if (taken.ended) return to_referee(w, m, "deliver " + nodes_.label(m));
      w.referee = taken.next;
      a = to_referee(w, Transitions::kCrash, "die behind " + nodes_.label(m));
      --a.next.left.referee_crashes;
    }
    a.crashes = true;
    return a;
  }

  Info visit(const World& w) {
    const std::string key = w.key();
    if (const auto known = seen_.find(key); known != seen_.end()) {
      if (known->second.is_open) fail("a step leads back");
      return known->second;
    }
    seen_[key] = {};
    Info info;
    const std::vector<Action> all = actions(w);
    if (all.empty()) fail("nothing leads on");
    for (size_t i = 0; i < all.size() && !has_failed(); ++i) {
      const Action& a = all[i];
      way_.push_back(a.text);
      ++out_.steps;
      Info behind;
      if (a.ended) {
        check_end(*a.ended);
        behind.schedules = 1;
        for (Best& b : behind.best) b = {0, 0, 0};
      } else {
        behind = visit(a.next);
      }
      info.schedules += behind.schedules;
      const std::array<int, 3> counts = {1, a.repeats ? 1 : 0, a.crashes ? 1 : 0};
      for (size_t j = 0; j < 3; ++j) {
        const Best candidate{behind.best[j].count + counts[j], behind.best[j].length + 1, i};
        if (info.best[j] < candidate) info.best[j] = candidate;
      }
      way_.pop_back();
    }
    info.is_open = false;
    seen_[key] = info;
    return info;
  }

  void check_end(dispute::Outcome outcome) {
    using dispute::Outcome;
    ++outcomes_[outcome];
    const bool is_trainer = tale_.honest == Party::kTrainer;
    const bool wrong =
        outcome == Outcome::kBothWrong || outcome == (is_trainer ? Outcome::kTrainerWrong : Outcome::kChallengerWrong);
    if (wrong) fail("the honest party is found wrong");
    const bool good = outcome == (is_trainer ? Outcome::kChallengerWrong : Outcome::kTrainerWrong) ||
                      outcome == (is_trainer ? Outcome::kChallengerForfeits : Outcome::kTrainerForfeits);
    if (bounds_.timely && !good) fail(text_of("it ends with '", name_of(outcome), "'"));
  }

  bool has_failed() const { return !out_.problem.empty() || !nodes_.problem().empty(); }
  void fail(const std::string& why) {
    if (has_failed()) return;
    out_.problem = why + ", after:";
    for (const std::string& action : way_) out_.problem += "\n  " + action;
  }

  void follow(World w, size_t what, Schedule& schedule) {
    for (;;) {
      const Action a = actions(w)[seen_.at(w.key()).best[what].action];
      schedule.actions.push_back(a.text);
      if (a.ended) {
        schedule.ending = name_of(*a.ended);
        return;
      }
      w = a.next;
    }
  }

  Transitions nodes_;
  const Tale tale_;
  const Bounds bounds_;
  Explored out_;
  std::unordered_map<std::string, Info> seen_;
  std::map<dispute::Outcome, uint64_t> outcomes_;
  std::vector<std::string> way_;
};

}  // namespace

Explored explore(Material& material, const Tale& tale, const Bounds& bounds) {
  return Explorer(material, tale, bounds).explore();
}

}  // namespace isobit::adversary::simulator
