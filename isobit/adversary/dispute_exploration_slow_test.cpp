// All schedules of small disputes: more lies, and more that goes wrong.
#include <gtest/gtest.h>

#include "isobit/adversary/simulator/explore_for_test.h"

namespace isobit::adversary::simulator {
namespace {

using dispute::Party;

void explore_all(const std::vector<Tale>& tales, const std::vector<Bounds>& bounds) {
  Material material({});
  for (const Tale& tale : tales) {
    for (const Bounds& b : bounds) explore_and_print(material, tale, b);
  }
}

TEST(DisputeExplorationSlow, EveryLieWithFaults) {
  explore_all({{Party::kChallenger, LieKind::kState, 1, false},
               {Party::kChallenger, LieKind::kValues, 1, false},
               {Party::kChallenger, LieKind::kSum, 1, false},
               {Party::kChallenger, LieKind::kRate, 1, false},
               {Party::kChallenger, LieKind::kList, 1, false},
               {Party::kChallenger, LieKind::kLoss, 1, false},
               {Party::kChallenger, LieKind::kBatch, 1, false},
               {Party::kTrainer, LieKind::kFalseAlarm, 1, false},
               {Party::kTrainer, LieKind::kValues, 1, false}},
              {{.timely = true, .lost = 1, .twice = 1},
               {.timely = true, .lost = 1, .party_crashes = 1},
               {.timely = true, .lost = 1, .referee_crashes = 1}});
}

// At each turn it may tell the truth, lie, say what is no answer, or several of these.
TEST(DisputeExplorationSlow, ATrainerThatMixesLiesAndTruth) {
  explore_all(
      {{Party::kChallenger, LieKind::kValues, 1, true}},
      {{.timely = true, .lost = 1}, {.timely = true, .party_crashes = 1}, {.timely = true, .referee_crashes = 1}});
}

}  // namespace
}  // namespace isobit::adversary::simulator
