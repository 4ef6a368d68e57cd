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
#include <string>
#include <vector>

#include "isobit/adversary/simulator/schedule_for_test.h"

namespace isobit::adversary::simulator {

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

}  // namespace isobit::adversary::simulator
