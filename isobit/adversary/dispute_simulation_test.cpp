// Disputes over a network and on machines that fail: some of each scenario.
#include "isobit/adversary/simulator/simulate_for_test.h"

namespace isobit::adversary::simulator {
namespace {

TEST(DisputeSimulation, EveryScenarioEndsAsItMust) {
  const Played played = play_scenarios(12);
  EXPECT_GE(played.trainer_dishonest.games, 100U);
  EXPECT_GE(played.challenger_dishonest.games, 100U);
  EXPECT_GE(played.both.games, 10U);
  EXPECT_GE(played.none.games, 100U);
  EXPECT_GE(played.trainer_dishonest.of_evaluations, 5U);
  EXPECT_GE(played.challenger_dishonest.of_evaluations, 5U);
}

TEST(DisputeSimulation, ASeedIsAGame) {
  Material material({});
  auto scenarios = read_scenarios(ISOBIT_SCENARIOS).value();
  std::erase_if(scenarios, [](const Scenario& s) { return s.arithmetic[0] != "ordered-1"; });
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

// Of one step and few samples, where lies of one kind meet.
TEST(DisputeSimulation, OfTwoLiarsTheReasonSaysWhatWasFoundOfEach) {
  Material material({"job.steps=1", "commit.every=1", "evaluate.samples=2"});
  for (const LieKind kind : {LieKind::kFed, LieKind::kRate, LieKind::kTree, LieKind::kSum, LieKind::kList,
                             LieKind::kBatch, LieKind::kLoss}) {
    bool both = false;
    for (uint64_t seed = 0; seed < 400 && !both; ++seed) {
      Random random(seed);
      const std::array<Lie, 2> lies = {make_lie(kind, material, random), make_lie(kind, material, random)};
      if (lies[0].points == lies[1].points && lies[0].evaluation == lies[1].evaluation) continue;
      const dispute::Verdict verdict = settle(material, lies).verdict;
      if (verdict.outcome != dispute::Outcome::kBothWrong) continue;
      EXPECT_TRUE(names_both(verdict.reason)) << verdict.reason;
      both = true;
    }
    EXPECT_TRUE(both) << name_of(kind);
  }
}

// By what it ended: two answers, a deadline, the game itself.
TEST(DisputeSimulation, ARecordOfAnyEndingGivesNoOtherVerdict) {
  Material material({});
  Random random(1);
  std::set<size_t> endings;
  for (const char* name : {"trainer-equivocates", "challenger-stalls", "trainer-lies-calm"}) {
    const Scenario scenario = read_scenario(fs::path(ISOBIT_SCENARIOS) / text_of(name, ".toml")).value();
    GameEnd end = play(scenario, material, 1);
    const bool wants_ending =
        scenario.trainer_conduct != Conduct::kNone || scenario.challenger_conduct != Conduct::kNone;
    for (uint64_t seed = 2; wants_ending && end.record.ending.index() == 0; ++seed)
      end = play(scenario, material, seed);
    endings.insert(end.record.ending.index());
    const Bytes bytes = encode(end.record);
    EXPECT_EQ(dispute::decode_record(bytes, "test").value(), end.record);
    for (int i = 0; i < 400; ++i) {
      Bytes changed = bytes;
      // A quarter of them in the ending.
      const size_t bit = i % 4 == 0 ? bytes.size() * 8 - 1 - random.below(8 * 300) : random.below(bytes.size() * 8);
      changed[bit / 8] = static_cast<uint8_t>(changed[bit / 8] ^ (1 << bit % 8));
      const auto decoded = dispute::decode_record(changed, "test");
      if (!decoded || !verify::verify_engagement(decoded->engagement, material.terms().client_key)) continue;
      EXPECT_FALSE(dispute::replay(*decoded, material.subject())) << name << ", bit " << bit;
    }
    if (end.record.ending.index() == 0) continue;
    dispute::Record without = end.record;
    without.ending = std::monostate();
    EXPECT_FALSE(dispute::replay(without, material.subject())) << name;
  }
  EXPECT_EQ(endings, (std::set<size_t>{0, 1, 2}));
}

TEST(DisputeSimulation, AScenarioThatIsNoneIsRefusedByItsField) {
  const run::testing::Folder folder("scenarios");
  const auto refused = [&](const std::string& text) {
    const fs::path path = folder / "scenario.toml";
    EXPECT_TRUE(write_file_durably(path, as_bytes(text)));
    const auto read = read_scenario(path);
    EXPECT_FALSE(read) << text;
    return read ? "" : read.error().message;
  };
  const std::string good = "arithmetic = \"ordered-1\"\nexpected = \"ends\"\n";
  EXPECT_NE(refused("arithmetic = 3\n").find("arithmetic"), std::string::npos);
  EXPECT_NE(refused("arithmetic = \"ordered-1\"\n").find("expected"), std::string::npos);
  EXPECT_NE(refused(good + "trainer = \"nonsense\"\n").find("trainer"), std::string::npos);
  EXPECT_NE(refused(good + "challenger_conduct = \"sings\"\n").find("challenger_conduct"), std::string::npos);
  EXPECT_NE(refused(good + "[network]\ndrop = 2\n").find("drop"), std::string::npos);
  EXPECT_NE(refused(good + "[machines]\ncrash_seconds = 0\n").find("crash_seconds"), std::string::npos);
  EXPECT_NE(refused(good + "[network]\ndropp = 0.1\n").find("dropp"), std::string::npos);
  EXPECT_NE(refused("= 3").find("scenario.toml:1"), std::string::npos);
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
