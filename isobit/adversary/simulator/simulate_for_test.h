// Games of all scenarios, and what came of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

#include "isobit/adversary/simulator/world_for_test.h"
#include "isobit/base/text.h"

namespace isobit::adversary::simulator {

// Of the games in which one side is honest, or none is.
struct Totals {
  uint64_t games = 0, seconds = 0, turns = 0;
  std::map<std::string, uint64_t> outcomes, levels;
  Traffic traffic;
  uint64_t counted = 0, restarts = 0, dropped_restarts = 0;
  std::array<uint64_t, dispute::kDrops> dropped{};
  std::array<uint64_t, dispute::kIgnored> ignored{};
  uint64_t answered = 0, repeated = 0;

  void add(const GameEnd& end) {
    ++games;
    seconds += end.seconds;
    turns += end.turns;
    ++outcomes[name_of(end.verdict.outcome)];
    if (!is_forfeit(end.verdict.outcome)) ++levels[name_of(end.verdict.level)];
    traffic += end.traffic;
    counted += end.referee.counted;
    restarts += end.restarts.restarts;
    dropped_restarts += end.restarts.dropped_restarts;
    for (size_t i = 0; i < dropped.size(); ++i) dropped[i] += end.referee.by_reason[i];
    for (const auto& party : end.parties) {
      for (size_t i = 0; i < ignored.size(); ++i) ignored[i] += party.ignored[i];
      answered += party.answered;
      repeated += party.repeated;
    }
  }

  void print(const std::string& title) const {
    std::string text = text_of(title, ": ", games, " games, ", turns, " turns, ", seconds, " seconds of game\n  ");
    for (const auto& [name, n] : outcomes) text += text_of(name, " ", n, "; ");
    text += "\n  wrong by: ";
    for (const auto& [name, n] : levels) text += text_of(name, " ", n, "; ");
    text += text_of("\n  messages: sent ", traffic.sent, ", delivered ", traffic.delivered, ", lost ", traffic.lost,
                    ", cut off ", traffic.cut_off, ", repeated ", traffic.repeated, ", changed ", traffic.corrupted);
    text +=
        text_of("\n  machines: crashes ", traffic.crashes, ", saves cut short ", traffic.torn_saves, ", full disks ",
                traffic.full_disks, ", restarts granted ", restarts, ", not granted ", dropped_restarts);
    text += text_of("\n  referee: counted ", counted, "; dropped: ");
    for (size_t i = 0; i < dropped.size(); ++i) {
      text += text_of(name_of(static_cast<dispute::Drop>(i)), " ", dropped[i], ", ");
    }
    text += text_of("\n  parties: answered ", answered, ", said again ", repeated, "; ignored: ");
    for (size_t i = 0; i < ignored.size(); ++i) {
      text += text_of(name_of(static_cast<dispute::Ignored>(i)), " ", ignored[i], ", ");
    }
    std::printf("%s\n", text.c_str());
  }
};

inline void expect_ending(const Scenario& s, const dispute::Verdict& verdict) {
  using dispute::Outcome;
  const Outcome o = verdict.outcome;
  const bool trainer_wrong = o == Outcome::kTrainerWrong || o == Outcome::kBothWrong;
  const bool challenger_wrong = o == Outcome::kChallengerWrong || o == Outcome::kBothWrong;
  EXPECT_FALSE(trainer_wrong && s.is_honest(dispute::Party::kTrainer)) << verdict.reason;
  EXPECT_FALSE(challenger_wrong && s.is_honest(dispute::Party::kChallenger)) << verdict.reason;
  switch (s.expected) {
    case Ending::kEnds:
      break;
    case Ending::kTrainerWrong:
      EXPECT_EQ(o, Outcome::kTrainerWrong) << verdict.reason;
      break;
    case Ending::kChallengerWrong:
      EXPECT_EQ(o, Outcome::kChallengerWrong) << verdict.reason;
      break;
    case Ending::kTrainerLoses:
      EXPECT_TRUE(o == Outcome::kTrainerWrong || o == Outcome::kTrainerForfeits)
          << name_of(o) << ": " << verdict.reason;
      break;
    case Ending::kChallengerLoses:
      EXPECT_TRUE(o == Outcome::kChallengerWrong || o == Outcome::kChallengerForfeits)
          << name_of(o) << ": " << verdict.reason;
      break;
  }
}

// By who of the two was dishonest.
struct Played {
  Totals trainer_dishonest, challenger_dishonest, both;
  std::map<std::string, std::map<std::string, uint64_t>> by_scenario;  // outcomes
};
// So many games of each scenario, each of which must end as that says.
inline Played play_scenarios(uint64_t games) {
  const auto scenarios = read_scenarios(ISOBIT_SCENARIOS);
  EXPECT_TRUE(scenarios) << scenarios.error().message;
  std::map<std::string, std::unique_ptr<Material>> materials;
  Played played;
  for (const Scenario& s : *scenarios) {
    std::map<std::string, uint64_t> outcomes;
    for (uint64_t game = 0; game < games; ++game) {
      const std::string& arithmetic = s.arithmetic[game % s.arithmetic.size()];
      auto& material = materials[arithmetic];
      if (!material) material = std::make_unique<Material>(std::vector{"job.arithmetic=" + arithmetic});
      const uint64_t seed = game * 1000003 + 17;
      SCOPED_TRACE(text_of(s.name, ", ", arithmetic, ", seed ", seed));
      const GameEnd end = play(s, *material, seed);
      expect_ending(s, end.verdict);
      for (const dispute::Party party : {dispute::Party::kTrainer, dispute::Party::kChallenger}) {
        // What an honest party is said to have said, it said; and what it is asked it can answer.
        const auto& ignored = end.parties[static_cast<size_t>(party)].ignored;
        EXPECT_TRUE(!s.is_honest(party) || ignored[static_cast<size_t>(dispute::Ignored::kOther)] == 0);
        EXPECT_TRUE(!s.is_honest(party) || ignored[static_cast<size_t>(dispute::Ignored::kCannot)] == 0);
      }
      // Anybody gets the same verdict from the record.
      const auto again = dispute::replay(end.record, material->subject());
      EXPECT_TRUE(again) << again.error().message;
      if (again) {
        EXPECT_EQ(again->verdict, end.verdict);
      }
      const bool trainer = s.is_honest(dispute::Party::kTrainer), challenger = s.is_honest(dispute::Party::kChallenger);
      (challenger ? played.trainer_dishonest : trainer ? played.challenger_dishonest : played.both).add(end);
      ++outcomes[name_of(end.verdict.outcome)];
      if (::testing::Test::HasFailure()) return played;
    }
    std::string text = s.name + ":";
    for (const auto& [name, n] : outcomes) text += text_of(" ", name, " ", n, ";");
    std::printf("%s\n", text.c_str());
    played.by_scenario[s.name] = std::move(outcomes);
  }
  played.trainer_dishonest.print("dishonest trainers, honest challengers");
  played.challenger_dishonest.print("honest trainers, dishonest challengers");
  played.both.print("both dishonest");
  return played;
}

}  // namespace isobit::adversary::simulator
