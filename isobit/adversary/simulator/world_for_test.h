// One dispute in one process: a referee, a trainer, a challenger, the network between them and their disks, second by
// second, all of it from one seed.
#pragma once

#include "isobit/adversary/simulator/scenario_for_test.h"
#include "isobit/dispute/party_node.h"
#include "isobit/dispute/referee_node.h"

namespace isobit::adversary::simulator {

struct Traffic {
  uint64_t sent = 0, lost = 0, repeated = 0, corrupted = 0, cut_off = 0, delivered = 0;
  uint64_t crashes = 0, torn_saves = 0, full_disks = 0, rotten_disks = 0;
  bool has_faults() const {
    return lost + repeated + corrupted + cut_off + crashes + torn_saves + full_disks + rotten_disks > 0;
  }
  void operator+=(const Traffic& o);
};

struct GameEnd {
  dispute::Verdict verdict;
  uint64_t turns = 0, seconds = 0;
  bool of_evaluation = false;
  Traffic traffic;
  dispute::Referee::Counts referee;
  dispute::RefereeNode::Counts restarts;
  std::array<dispute::PartyNode::Counts, 2> parties;
  dispute::Record record;
  std::array<bool, 2> told = {};  // whether the party heard how it ended
};

inline constexpr uint64_t kRepeatEvery = 5, kSilence = 40;  // seconds

// Ends, or aborts with the seed after as long as a game of a hundred turns may take.
GameEnd play(const Scenario& scenario, Material& material, uint64_t seed);

// The same without network, failures or bad conduct: what is said is heard. head: the size of the tree under the head
// that the challenger shows; the whole transcript's without one.
struct Settled {
  dispute::Verdict verdict;
  uint64_t turns = 0;
  dispute::Referee::Counts counts;
  dispute::Record record;
};
Settled settle(Material& material, const std::array<Lie, 2>& lies, std::optional<uint64_t> head = std::nullopt);

}  // namespace isobit::adversary::simulator
