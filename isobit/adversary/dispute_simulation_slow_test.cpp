// Under faults of network and machines: at least a thousand disputes with a dishonest trainer, a thousand with a
// dishonest challenger, and a thousand in which both are honest. No verdict is wrong.
#include "isobit/adversary/simulator/simulate_for_test.h"

namespace isobit::adversary::simulator {
namespace {

TEST(DisputeSimulationAtLength, NoVerdictIsWrong) {
  const Played played = play_scenarios(120);
  for (const Totals* t : {&played.trainer_dishonest, &played.challenger_dishonest, &played.none}) {
    EXPECT_GE(t->under_faults, 1000U);
  }
  // Beyond the deadlines some games are lost by who did not answer, the honest among them, and others end in a verdict.
  for (const char* liar : {"trainer", "challenger"}) {
    const auto& ended = played.by_scenario.at(text_of(liar, "-lies-beyond-deadlines"));
    const auto games = [&](const std::string& how) { return ended.contains(how) ? ended.at(how) : 0; };
    const char* honest = std::string(liar) == "trainer" ? "challenger" : "trainer";
    EXPECT_GE(games(text_of(liar, " wrong")), 30U) << liar;
    EXPECT_GE(games(text_of("forfeit (", honest, ")")), 5U) << liar;
  }
  // The faults reach what they are to reach: answers are judged, and not just dropped at the door.
  for (const Totals* t : {&played.trainer_dishonest, &played.challenger_dishonest}) {
    EXPECT_GT(t->counted, 5 * t->games);
    EXPECT_GT(t->of_evaluations, 100U);
    for (const char* level : {"step", "trace", "value", "element", "partial sum", "conduct"}) {
      EXPECT_GT(t->levels.contains(level) ? t->levels.at(level) : 0, 10U) << level;
    }
    EXPECT_GT(t->traffic.torn_saves, 30U);
    EXPECT_GT(t->restarts, 50U);
  }
  // Honest parties differ at an element, and that is where it ends.
  const Totals& none = played.none;
  EXPECT_GE(none.outcomes.at("nobody wrong"), 1000U);
  EXPECT_EQ(none.levels.at("element"), none.outcomes.at("nobody wrong"));
  EXPECT_GT(none.traffic.rotten_disks, 5U);
}

}  // namespace
}  // namespace isobit::adversary::simulator
