// What the nodes of an explored dispute (explorer_for_test.h) do with each input in each of their states: asked of the
// production's nodes once, and remembered. States and messages are numbers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "isobit/adversary/simulator/cast_for_test.h"

namespace isobit::adversary::simulator {

class Transitions {
 public:
  Transitions(Material& material, const Tale& tale) : cast_(material, tale), honest_(tale.honest) {}

  // Inputs that are no messages.
  static constexpr int kTime = -1, kCrash = -2;
  // What a node does with an input.
  struct Step {
    int next = 0;          // state
    std::vector<int> out;  // messages
    bool changed_nothing = false;
    std::optional<dispute::Outcome> ended;
  };

  // Before anything was said.
  int first_party() { return party_state({disks_.of(""), false}); }
  Step first_referee() { return boot_referee(disks_.of("")); }
  // Of the honest party, in a state of it; and of the referee, for which time may pass, too.
  const Step& of_party(int state, int input);
  const Step& of_referee(int state, int input);
  // What the dishonest party may say when the referee is in this state.
  const std::vector<int>& sayable(int referee);

  bool is_to_referee(int m) const { return messages_[m][0] == 'r'; }
  std::string label(int m) const { return label_of(bytes_of(m)); }

  uint64_t count() const { return of_referee_.size() + of_party_.size(); }
  uint64_t records() const { return records_.size(); }  // different ones, of games that ended
  // "" or what a record does that it must not.
  const std::string& problem() const { return problem_; }

 private:
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

  int message(bool to_referee, const Bytes& bytes);
  Bytes bytes_of(int m) const;
  int party_state(const PartyState& s);
  int referee_state(const RefereeState& s);
  Step boot_referee(int disk);
  void take_out(const std::vector<dispute::Outgoing>& out, Step& step);
  Step run_referee(const RefereeState& before, int input);
  void check_record(const dispute::RefereeNode& node);

  Cast cast_;
  const dispute::Party honest_;
  Names disks_, messages_, party_names_, referee_names_;
  std::vector<PartyState> parties_;
  std::vector<RefereeState> referees_;
  std::map<std::pair<int, int>, Step> of_party_, of_referee_;
  std::map<int, std::vector<int>> sayable_;
  std::set<std::string> records_;
  std::string problem_;
};

}  // namespace isobit::adversary::simulator
