#include "isobit/adversary/simulator/transitions_for_test.h"

#include "isobit/base/text.h"

namespace isobit::adversary::simulator {
namespace {

std::string as_text(ByteView bytes) { return {bytes.begin(), bytes.end()}; }
Bytes as_kept(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

int Transitions::message(bool to_referee, const Bytes& bytes) {
  return messages_.of((to_referee ? "r" : "p") + as_text(bytes));
}
Bytes Transitions::bytes_of(int m) const { return as_kept(messages_[m].substr(1)); }

int Transitions::party_state(const PartyState& s) {
  const int number = party_names_.of(text_of(s.disk, ",", s.announces));
  if (static_cast<size_t>(number) == parties_.size()) parties_.push_back(s);
  return number;
}
int Transitions::referee_state(const RefereeState& s) {
  std::string key = text_of(s.disk, ",", s.age);
  for (const Event& e : s.events) key += text_of(",", e.age, ":", e.message);
  const int number = referee_names_.of(key);
  if (static_cast<size_t>(number) == referees_.size()) referees_.push_back(s);
  return number;
}

const Transitions::Step& Transitions::of_party(int state, int input) {
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

Transitions::Step Transitions::boot_referee(int disk) {
  Bytes bytes = as_kept(disks_[disk]);
  const auto node = cast_.open_referee(bytes, 0);
  Step step;
  take_out(node->tick(0), step);
  step.next = referee_state({disk, 0, {}});
  return step;
}

void Transitions::take_out(const std::vector<dispute::Outgoing>& out, Step& step) {
  for (const dispute::Outgoing& o : out) {
    if (o.to == honest_) step.out.push_back(message(false, o.bytes));
  }
}

const Transitions::Step& Transitions::of_referee(int state, int input) {
  const auto [at, is_new] = of_referee_.try_emplace({state, input});
  if (!is_new) return at->second;
  const RefereeState before = referees_[static_cast<size_t>(state)];
  Step step = input == kCrash ? boot_referee(before.disk) : run_referee(before, input);
  step.changed_nothing = !step.ended && step.next == state;
  return at->second = step;
}

// A node as it is in that state, and then the input.
Transitions::Step Transitions::run_referee(const RefereeState& before, int input) {
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
  take_out(input == kTime ? node->tick(seconds(after.age)) : node->receive(bytes_of(input), seconds(after.age)), step);
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

void Transitions::check_record(const dispute::RefereeNode& node) {
  const dispute::Record record = node.record();
  if (!records_.insert(as_text(dispute::encode(record))).second) return;
  const auto again = dispute::replay(record, cast_.subject());
  if (!again || again->verdict != *node.referee().verdict()) problem_ = "a record does not lead to its verdict";
}

// What the dishonest one may say now.
const std::vector<int>& Transitions::sayable(int state) {
  const auto [at, is_new] = sayable_.try_emplace(state);
  if (!is_new) return at->second;
  Bytes disk = as_kept(disks_[referees_[static_cast<size_t>(state)].disk]);
  const auto node = cast_.open_referee(disk, 0);
  for (const Bytes& bytes : cast_.variants(node->referee().question())) at->second.push_back(message(true, bytes));
  return at->second;
}

}  // namespace isobit::adversary::simulator
