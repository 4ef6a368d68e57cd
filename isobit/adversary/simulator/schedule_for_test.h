// One schedule of an explored dispute (explorer_for_test.h) as data, and its replay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/adversary/simulator/lie_for_test.h"

namespace isobit::adversary::simulator {

// The game: one party is the production's, on what it computed; the other may say at each turn any of `variants`.
struct Tale {
  dispute::Party honest = dispute::Party::kTrainer;
  LieKind lie = LieKind::kState;  // what the other one has
  uint64_t seed = 1;              // of the lie
  bool mixes = true;              // it may also say what it would say without its lie, and what is no answer
};

struct Bounds {
  // Whether time passes only while nothing is under way: then whoever is honest answers in time. Else it may pass
  // whenever it likes, and all that is promised is that nobody honest is found wrong.
  bool timely = true;
  int lost = 0, twice = 0, party_crashes = 0, referee_crashes = 0;
};

// A schedule as data: a line for each action, in words, and how it ends.
struct Schedule {
  Tale tale;
  Bounds bounds;
  std::vector<std::string> actions;
  std::string ending;  // name_of(Outcome)
};
std::string text_of_schedule(const Schedule& schedule);
Expected<Schedule> parse_schedule(const std::string& text, const std::string& what);

// Runs a schedule on nodes that live from the beginning to the end; "" or what is different from what it says.
std::string replay_schedule(Material& material, const Schedule& schedule);

}  // namespace isobit::adversary::simulator
