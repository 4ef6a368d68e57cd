#include "isobit/adversary/simulator/explorer_for_test.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "isobit/adversary/simulator/cast_for_test.h"

namespace isobit::adversary::simulator {
namespace {

using dispute::Party;

// Numbers for whatever is equal.
class Names {
 public:
  int of(const std::string& key) {
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<int>(keys_.size()));
    if (is_new) keys_.push_back(&at->first);
    return at->second;
  }
  const std::string& operator[](int number) const { return *keys_[static_cast<size_t>(number)]; }

 private:
  std::unordered_map<std::string, int> numbers_;
  std::vector<const std::string*> keys_;
};

std::string as_text(ByteView bytes) { return {bytes.begin(), bytes.end()}; }
Bytes as_kept(const std::string& text) { return {text.begin(), text.end()}; }

// What came in during a turn and is not saved.
struct Event {
  int age = 0, message = 0;
};
struct RefereeState {
  int disk = 0, age = 0;
  std::vector<Event> events;
};
struct PartyState {
  int disk = 0;
  bool announces = false;
};

constexpr int kTime = -1, kCrash = -2;

// What a node does with an input.
struct Step {
  int next = 0;
  std::vector<int> out;  // messages
  bool changed_nothing = false;
  std::optional<dispute::Outcome> ended;
};

struct World {
  int referee = 0, party = 0;
  std::vector<int> under_way;  // sorted; each once
  std::array<int, 4> left{};   // lost, twice, party crashes, referee crashes
  std::string key() const {
    std::string k = text_of(referee, ",", party, ",", left[0], left[1], left[2], left[3]);
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
      : cast_(material, tale), tale_(tale), bounds_(bounds) {}

  Explored explore() {
    out_.longest.tale = out_.most_repeats.tale = out_.most_crashes.tale = tale_;
    out_.longest.bounds = out_.most_repeats.bounds = out_.most_crashes.bounds = bounds_;
    World first;
    first.left = {bounds_.lost, bounds_.twice, bounds_.party_crashes, bounds_.referee_crashes};
    first.party = party_state({disks_.of(""), false});
    const Step begun = boot_referee(disks_.of(""));
    first.referee = begun.next;
    first.under_way = begun.out;
    visit(first);
    if (!out_.problem.empty()) return std::move(out_);
    out_.states = seen_.size();
    out_.schedules = seen_.at(first.key()).schedules;
    out_.transitions = of_referee_.size() + of_party_.size();
    out_.endings = records_.size();
    for (const auto& [outcome, n] : outcomes_) out_.outcomes.emplace_back(name_of(outcome), n);
    std::array<Schedule*, 3> wanted = {&out_.longest, &out_.most_repeats, &out_.most_crashes};
    for (size_t i = 0; i < 3; ++i) follow(first, i, *wanted[i]);
    return std::move(out_);
  }

 private:
  // --- Nodes ---

  int message(bool to_referee, const Bytes& bytes) { return messages_.of((to_referee ? "r" : "p") + as_text(bytes)); }
  bool is_to_referee(int m) const { return messages_[m][0] == 'r'; }
  Bytes bytes_of(int m) const { return as_kept(messages_[m].substr(1)); }
  std::string label(int m) const { return label_of(bytes_of(m)); }

  int party_state(const PartyState& s) {
    const int number = party_names_.of(text_of(s.disk, ",", s.announces));
    if (static_cast<size_t>(number) == parties_.size()) parties_.push_back(s);
    return number;
  }
  int referee_state(const RefereeState& s) {
    std::string key = text_of(s.disk, ",", s.age);
    for (const Event& e : s.events) key += text_of(",", e.age, ":", e.message);
    const int number = referee_names_.of(key);
    if (static_cast<size_t>(number) == referees_.size()) referees_.push_back(s);
    return number;
  }

  const Step& party_step(int state, int input) {
    const auto [at, is_new] = of_party_.try_emplace({state, input});
    if (!is_new) return at->second;
    const PartyState before = parties_[static_cast<size_t>(state)];
    Step step;
    if (input == kCrash) {
      step.next = party_state({before.disk, true});
    } else {
      Bytes disk = as_kept(disks_[before.disk]);
      auto node = cast_.open_party(disk, before.announces);
      for (const Bytes& bytes : node.receive(bytes_of(input), 0)) step.out.push_back(message(true, bytes));
      const int kept = disks_.of(as_text(disk));
      step.next = party_state({kept, before.announces && kept == before.disk});
    }
    step.changed_nothing = step.next == state;
    return at->second = step;
  }

  Step boot_referee(int disk) {
    Bytes bytes = as_kept(disks_[disk]);
    const auto node = cast_.open_referee(bytes, 0);
    Step step;
    take_out(node->tick(0), step);
    step.next = referee_state({disk, 0, {}});
    return step;
  }

  void take_out(const std::vector<dispute::Outgoing>& out, Step& step) {
    for (const dispute::Outgoing& o : out) {
      if (o.to == tale_.honest) step.out.push_back(message(false, o.bytes));
    }
  }

  const Step& referee_step(int state, int input) {
    const auto [at, is_new] = of_referee_.try_emplace({state, input});
    if (!is_new) return at->second;
    const RefereeState before = referees_[static_cast<size_t>(state)];
    Step step = input == kCrash ? boot_referee(before.disk) : run_referee(before, input);
    step.changed_nothing = !step.ended && step.next == state;
    return at->second = step;
  }

  // A node as it is in that state, and then the input.
  Step run_referee(const RefereeState& before, int input) {
    Bytes disk = as_kept(disks_[before.disk]);
    const auto node = cast_.open_referee(disk, 0);
    node->tick(0);
    for (int age = 0; age <= before.age; ++age) {
      if (age > 0) node->tick(seconds(age));
      for (const Event& e : before.events) {
        if (e.age == age) node->receive(bytes_of(e.message), seconds(age));
      }
    }
    ISOBIT_CHECK(as_text(disk) == disks_[before.disk]);
    const dispute::Referee& referee = node->referee();
    const uint64_t turn = referee.question().turn, restarts = node->counts().restarts;
    const auto no_answers = [&] { return referee.counts().by_reason[static_cast<size_t>(dispute::Drop::kBody)]; };
    const uint64_t uncounted = no_answers();
    RefereeState after = before;
    if (input == kTime) ++after.age;
    Step step;
    take_out(input == kTime ? node->tick(seconds(after.age)) : node->receive(bytes_of(input), seconds(after.age)),
             step);
    after.disk = disks_.of(as_text(disk));
    if (referee.verdict()) {
      step.ended = node->closing()->outcome;
      check_record(*node);
      return step;
    }
    if (referee.question().turn != turn) {
      after.age = 0;
      after.events.clear();
    } else if (node->counts().restarts > restarts || (turn > 0 && no_answers() > uncounted)) {
      after.events.push_back({after.age, input});
    }
    // What is known of whoever has answered no longer matters.
    std::erase_if(after.events, [&](const Event& e) { return !referee.awaits(cast_.sender(bytes_of(e.message))); });
    step.next = referee_state(after);
    return step;
  }

  void check_record(const dispute::RefereeNode& node) {
    const dispute::Record record = node.record();
    if (!records_.insert(as_text(dispute::encode(record))).second) return;
    const auto again = dispute::replay(record, cast_.subject());
    if (!again || again->verdict != *node.referee().verdict()) out_.problem = "a record does not lead to its verdict";
  }

  // What the dishonest one may say now.
  const std::vector<int>& sayable(int state) {
    const auto [at, is_new] = sayable_.try_emplace(state);
    if (!is_new) return at->second;
    Bytes disk = as_kept(disks_[referees_[static_cast<size_t>(state)].disk]);
    const auto node = cast_.open_referee(disk, 0);
    for (const Bytes& bytes : cast_.variants(node->referee().question())) at->second.push_back(message(true, bytes));
    return at->second;
  }

  // --- Worlds ---

  static void add(std::vector<int>& under_way, const std::vector<int>& more) {
    for (const int m : more) {
      const auto at = std::lower_bound(under_way.begin(), under_way.end(), m);
      if (at == under_way.end() || *at != m) under_way.insert(at, m);
    }
  }

  Action to_referee(const World& w, int input, std::string text) {
    const Step& step = referee_step(w.referee, input);
    Action a{std::move(text), w, step.ended, step.changed_nothing && input >= 0, false};
    a.next.referee = step.next;
    add(a.next.under_way, step.out);
    return a;
  }
  Action to_party(const World& w, int input, std::string text) {
    const Step& step = party_step(w.party, input);
    Action a{std::move(text), w, std::nullopt, step.changed_nothing && input >= 0, false};
    a.next.party = step.next;
    add(a.next.under_way, step.out);
    return a;
  }
  Action deliver(const World& w, int m, const std::string& text) {
    return is_to_referee(m) ? to_referee(w, m, text) : to_party(w, m, text);
  }

  std::vector<Action> actions(const World& w) {
    std::vector<Action> out;
    for (size_t i = 0; i < w.under_way.size(); ++i) {
      const int m = w.under_way[i];
      World without = w;
      without.under_way.erase(without.under_way.begin() + static_cast<std::ptrdiff_t>(i));
      out.push_back(deliver(without, m, "deliver " + label(m)));
      if (w.left[1] > 0) {
        out.push_back(deliver(w, m, "deliver twice " + label(m)));
        --out.back().next.left[1];
      }
      if (w.left[0] > 0) {
        out.push_back({"lose " + label(m), without, std::nullopt, false, false});
        --out.back().next.left[0];
      }
      // The machine saves, and dies before it sends.
      const size_t of = is_to_referee(m) ? 3 : 2;
      if (w.left[of] > 0) out.push_back(die_behind(without, m, of));
    }
    if (w.left[2] > 0) {
      out.push_back(to_party(w, kCrash, "crash party"));
      --out.back().next.left[2];
      out.back().crashes = true;
    }
    if (w.left[3] > 0) {
      out.push_back(to_referee(w, kCrash, "crash referee"));
      --out.back().next.left[3];
      out.back().crashes = true;
    }
    const std::vector<int> says = sayable(w.referee);
    for (size_t v = 0; v < says.size(); ++v) out.push_back(to_referee(w, says[v], text_of("say ", v)));
    if (w.under_way.empty() || !bounds_.timely) out.push_back(to_referee(w, kTime, "time"));
    // What changes nothing at all is no step.
    std::erase_if(out, [&](const Action& a) { return !a.ended && a.next.key() == w.key(); });
    return out;
  }

  Action die_behind(const World& without, int m, size_t of) {
    World w = without;
    Action a;
    if (of == 2) {
      w.party = party_step(w.party, m).next;
      a = to_party(w, kCrash, "die behind " + label(m));
    } else {
      const Step& taken = referee_step(w.referee, m);
      if (taken.ended) {  // as it ends without a crash: it is saved
        a = to_referee(w, m, "deliver " + label(m));
        return a;
      }
      w.referee = taken.next;
      a = to_referee(w, kCrash, "die behind " + label(m));
    }
    --a.next.left[of];
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
    for (size_t i = 0; i < all.size() && out_.problem.empty(); ++i) {
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

  void fail(const std::string& why) {
    if (!out_.problem.empty()) return;
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

  Cast cast_;
  const Tale tale_;
  const Bounds bounds_;
  Explored out_;
  Names disks_, messages_, party_names_, referee_names_;
  std::vector<PartyState> parties_;
  std::vector<RefereeState> referees_;
  std::map<std::pair<int, int>, Step> of_party_, of_referee_;
  std::map<int, std::vector<int>> sayable_;
  std::unordered_map<std::string, Info> seen_;
  std::set<std::string> records_;
  std::map<dispute::Outcome, uint64_t> outcomes_;
  std::vector<std::string> way_;
};

}  // namespace

Explored explore(Material& material, const Tale& tale, const Bounds& bounds) {
  return Explorer(material, tale, bounds).explore();
}

}  // namespace isobit::adversary::simulator
