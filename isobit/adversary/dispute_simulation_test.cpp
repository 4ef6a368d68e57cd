// Disputes over a network and on machines that fail: some of each scenario.
#include "isobit/adversary/simulator/simulate_for_test.h"

namespace isobit::adversary::simulator {
namespace {

TEST(DisputeSimulation, EveryScenarioEndsAsItMust) {
  const Played played = play_scenarios(12);
  EXPECT_GE(played.trainer_dishonest.games, 100U);
  EXPECT_GE(played.challenger_dishonest.games, 100U);
  EXPECT_GE(played.both.games, 10U);
}

TEST(DisputeSimulation, ASeedIsAGame) {
  Material material({});
  const auto scenarios = read_scenarios(ISOBIT_SCENARIOS).value();
  std::set<std::vector<Bytes>> games;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Scenario& scenario = scenarios[scenarios.size() - 1 - seed];
    const GameEnd one = play(scenario, material, seed), other = play(scenario, material, seed);
    EXPECT_EQ(one.record, other.record);
    EXPECT_EQ(one.seconds, other.seconds);
    EXPECT_EQ(one.traffic.sent, other.traffic.sent);
    games.insert(one.record.messages);
  }
  EXPECT_EQ(games.size(), 4U);
}

TEST(DisputeSimulation, AnEarlierHeadDoesNotMakeAnHonestTrainerFail) {
  Material material({"job.steps=6"});
  Random random(1);
  Lie lie = make_lie(LieKind::kState, material, random);
  while (lie.step > 3) lie = make_lie(LieKind::kState, material, random);
  for (uint64_t size = 4; size <= material.transcript().size(); ++size) {
    EXPECT_EQ(settle(material, {Lie{}, lie}, size).verdict.outcome, dispute::Outcome::kChallengerWrong) << size;
    EXPECT_EQ(settle(material, {lie, Lie{}}, size).verdict.outcome, dispute::Outcome::kTrainerWrong) << size;
  }
}

}  // namespace
}  // namespace isobit::adversary::simulator
