// All orders in which the messages of one small dispute can come, with a bounded number of messages that are lost or
// come twice and of machines that crash, and with all that a dishonest party may answer out of a few answers at each
// turn, mixed as it likes. Nothing is modelled: the nodes are the production's, asked one transition at a time.
//
// How a state is told from others: a party is what it saved and whether it has just started again; a referee what it
// saved, how long the turn has been open, and what came in since that is not saved (a restart that was granted, an
// answer that was signed and does not count). From these a node is made again for each transition, and transitions are
// remembered, so that millions of schedules are some thousand transitions.
#pragma once

#include <cstdint>
#include <iosfwd>
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

struct Explored {
  uint64_t states = 0;                                     // of referee, honest party and what is under way, together
  uint64_t steps = 0;                                      // from one to another
  double schedules = 0;                                    // from the first to an end
  uint64_t transitions = 0;                                // of single nodes, each of which was run
  uint64_t endings = 0;                                    // different records
  std::vector<std::pair<std::string, uint64_t>> outcomes;  // states in which a game ends, by outcome
  std::string problem;  // the first invariant that does not hold, with the schedule; "" where all do
  Schedule longest, most_repeats, most_crashes;
};
// Invariants: nobody honest is found wrong; every state that is no end has a step that leads on, and no step leads
// back, so that every game ends; where time is `timely`, a game ends with the other wrong or its forfeit; the record
// leads to the same verdict.
Explored explore(Material& material, const Tale& tale, const Bounds& bounds);

// Runs a schedule on nodes that live from the beginning to the end; "" or what is different from what it says.
std::string replay_schedule(Material& material, const Schedule& schedule);

}  // namespace isobit::adversary::simulator
