// All schedules of small disputes, and the worst of them again.
#include <gtest/gtest.h>

#include "isobit/adversary/simulator/explore_for_test.h"
#include "isobit/adversary/simulator/explorer_for_test.h"

namespace isobit::adversary::simulator {
namespace {

TEST(DisputeExploration, EverySmallGameEndsAsItMust) {
  Material material({});
  for (const Tale& tale : {Tale{dispute::Party::kChallenger, LieKind::kValues, 1, false},
                           Tale{dispute::Party::kTrainer, LieKind::kFalseAlarm, 1, false}}) {
    explore_and_print(material, tale, {.timely = true, .lost = 1});
  }
  explore_and_print(material, {dispute::Party::kTrainer, LieKind::kFalseAlarm, 1, false},
                    {.timely = true, .party_crashes = 1});
  // One that mixes, and time that passes when it likes: a game of few turns.
  const Tale mixes{dispute::Party::kTrainer, LieKind::kFalseAlarm, 1, true};
  explore_and_print(material, mixes, {.timely = true, .lost = 1, .referee_crashes = 1});
  explore_and_print(material, mixes, {.timely = false, .party_crashes = 1});
}

// The explorer sees what is wrong: two faults more in a turn than there are tries, and an honest party forfeits.
TEST(DisputeExploration, WhatIsBeyondTheDeadlinesIsFound) {
  Material material({});
  const Explored e =
      explore(material, {dispute::Party::kTrainer, LieKind::kFalseAlarm, 1, false}, {.timely = true, .lost = 3});
  EXPECT_NE(e.problem.find("it ends with 'forfeit (trainer)', after:"), std::string::npos) << e.problem;
}

TEST(DisputeExploration, TheWorstSchedulesEndAsTheyDid) {
  Material material({});
  size_t replayed = 0;
  for (const auto& entry : fs::directory_iterator(ISOBIT_SCHEDULES)) {
    if (entry.path().extension() != ".schedule") continue;
    SCOPED_TRACE(entry.path());
    const Bytes bytes = read_file(entry.path(), 1 << 20).value();
    const auto schedule = parse_schedule({bytes.begin(), bytes.end()}, entry.path().string());
    ASSERT_TRUE(schedule) << schedule.error().message;
    EXPECT_EQ(text_of_schedule(*schedule), std::string(bytes.begin(), bytes.end()));
    EXPECT_EQ(replay_schedule(material, *schedule), "");
    ++replayed;
    // Without its last action it has not ended; with one that cannot be, it is refused.
    Schedule cut = *schedule;
    cut.actions.pop_back();
    EXPECT_EQ(replay_schedule(material, cut), "the game has not ended");
    cut.actions.push_back("deliver answer 77");
    EXPECT_NE(replay_schedule(material, cut).find("no such message"), std::string::npos);
  }
  EXPECT_GE(replayed, size_t{6});
}

}  // namespace
}  // namespace isobit::adversary::simulator
