// Games of all scenarios, and what came of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <tuple>

#include "isobit/adversary/simulator/world_for_test.h"
#include "isobit/base/text.h"

namespace isobit::adversary::simulator {

// Of the games in which one side is honest, or none is, or both are.
struct Totals {
  uint64_t games = 0, under_faults = 0, of_evaluations = 0, seconds = 0, turns = 0;
  std::map<std::string, uint64_t> outcomes, levels;
  Traffic traffic;
  uint64_t counted = 0, restarts = 0, dropped_restarts = 0;
  std::array<uint64_t, dispute::kDrops> dropped{};
  std::array<uint64_t, dispute::kIgnored> ignored{};
  uint64_t answered = 0, repeated = 0;

  void add(const GameEnd& end) {
    ++games;
    under_faults += end.traffic.has_faults() ? 1 : 0;
    of_evaluations += end.of_evaluation ? 1 : 0;
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
};

using Columns = std::vector<std::pair<std::string, const Totals*>>;

// A row of the table in docs/disputes-measured.md; none where all of it is 0.
inline void print_row(const std::string& name, const Columns& columns,
                      const std::function<uint64_t(const Totals&)>& of) {
  std::string text = text_of("| ", name, " |");
  uint64_t sum = 0;
  for (const auto& [title, totals] : columns) {
    std::string number = std::to_string(of(*totals));
    sum += of(*totals);
    for (auto at = static_cast<int64_t>(number.size()) - 3; at > 0; at -= 3) {
      number.insert(static_cast<size_t>(at), ",");
    }
    text += text_of(" ", number, " |");
  }
  if (sum > 0) std::printf("%s\n", text.c_str());
}

inline void print_table(const Columns& columns) {
  std::string head = "| `dispute_simulation_slow_test` |", line = "|---|";
  for (const auto& [title, totals] : columns) {
    head += text_of(" ", title, " |");
    line += "---:|";
  }
  std::printf("%s\n%s\n", head.c_str(), line.c_str());
  const auto row = [&](const std::string& name, auto&& of) { print_row(name, columns, of); };
  const auto named = [](const std::map<std::string, uint64_t>& counts, const std::string& name) {
    return counts.contains(name) ? counts.at(name) : 0;
  };
  row("games", [](const Totals& t) { return t.games; });
  row("of these under faults", [](const Totals& t) { return t.under_faults; });
  row("of these about the evaluation", [](const Totals& t) { return t.of_evaluations; });
  row("turns", [](const Totals& t) { return t.turns; });
  for (uint8_t i = 0; i <= static_cast<uint8_t>(dispute::Outcome::kNobodyWrong); ++i) {
    const std::string name = name_of(static_cast<dispute::Outcome>(i));
    row(name, [&](const Totals& t) { return named(t.outcomes, name); });
  }
  for (uint8_t i = 0; i <= static_cast<uint8_t>(dispute::Level::kLog); ++i) {
    const std::string name = name_of(static_cast<dispute::Level>(i));
    row("decided by: " + name, [&](const Totals& t) { return named(t.levels, name); });
  }
  row("messages sent", [](const Totals& t) { return t.traffic.sent; });
  row("messages delivered", [](const Totals& t) { return t.traffic.delivered; });
  row("messages lost", [](const Totals& t) { return t.traffic.lost; });
  row("messages cut off", [](const Totals& t) { return t.traffic.cut_off; });
  row("messages repeated", [](const Totals& t) { return t.traffic.repeated; });
  row("messages changed", [](const Totals& t) { return t.traffic.corrupted; });
  row("crashes", [](const Totals& t) { return t.traffic.crashes; });
  row("saves cut short", [](const Totals& t) { return t.traffic.torn_saves; });
  row("full disks", [](const Totals& t) { return t.traffic.full_disks; });
  row("disks with other bits", [](const Totals& t) { return t.traffic.rotten_disks; });
  row("restarts granted", [](const Totals& t) { return t.restarts; });
  row("referee: counted", [](const Totals& t) { return t.counted; });
  for (size_t i = 0; i < dispute::kDrops; ++i) {
    row(text_of("referee dropped: ", name_of(static_cast<dispute::Drop>(i))),
        [i](const Totals& t) { return t.dropped[i]; });
  }
  row("parties: answered", [](const Totals& t) { return t.answered; });
  row("parties: same answer again", [](const Totals& t) { return t.repeated; });
  for (size_t i = 0; i < dispute::kIgnored; ++i) {
    row(text_of("parties ignored: ", name_of(static_cast<dispute::Ignored>(i))),
        [i](const Totals& t) { return t.ignored[i]; });
  }
}

inline const char* finding_of(Difference difference) {
  constexpr std::array<const char*, 4> kFindings = {"", "", "missing", "beyond_bound"};
  return kFindings[static_cast<size_t>(difference)];
}

// Whether a reason says what was found of each party.
inline bool names_both(const std::string& reason) {
  return reason.starts_with("the trainer: ") && reason.find("; the challenger: ") != std::string::npos;
}

inline void expect_ending(const Scenario& s, Difference difference, const dispute::Verdict& verdict) {
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
    case Ending::kNobodyWrong:
      EXPECT_EQ(o, Outcome::kNobodyWrong) << verdict.reason;
      break;
  }
  if (o == Outcome::kBothWrong) {
    EXPECT_TRUE(names_both(verdict.reason)) << verdict.reason;
  }
  if (o == Outcome::kNobodyWrong) {
    EXPECT_EQ(verdict.finding, finding_of(difference)) << verdict.reason;
  }
}

// The runs over which games are played, each made when first needed.
class Materials {
 public:
  Material& of(const std::string& arithmetic, Difference difference, uint64_t step) {
    auto& made = made_[{arithmetic, difference, step}];
    const std::vector<std::string> overrides = {"job.arithmetic=" + arithmetic};
    if (made) return *made;
    made = difference == Difference::kNone ? std::make_unique<Material>(overrides)
                                           : Material::of_honest_parties(overrides, difference, step);
    return *made;
  }

 private:
  std::map<std::tuple<std::string, Difference, uint64_t>, std::unique_ptr<Material>> made_;
};

// What an honest party is said to have said, it said; and what it is asked it can answer.
inline void expect_no_surprise(const Scenario& s, const GameEnd& end) {
  for (const dispute::Party party : {dispute::Party::kTrainer, dispute::Party::kChallenger}) {
    if (!s.is_honest(party) || s.machines.rot > 0) continue;
    const auto& ignored = end.parties[static_cast<size_t>(party)].ignored;
    EXPECT_EQ(ignored[static_cast<size_t>(dispute::Ignored::kOther)], 0U);
    EXPECT_EQ(ignored[static_cast<size_t>(dispute::Ignored::kCannot)], 0U);
  }
}

struct Played {
  Totals trainer_dishonest, challenger_dishonest, both, none;
  std::map<std::string, std::map<std::string, uint64_t>> by_scenario;  // outcomes

  Totals& of(const Scenario& s) {
    const bool trainer = s.is_honest(dispute::Party::kTrainer), challenger = s.is_honest(dispute::Party::kChallenger);
    if (trainer && challenger) return none;
    return challenger ? trainer_dishonest : trainer ? challenger_dishonest : both;
  }
  void print() const {
    print_table({{"trainer dishonest", &trainer_dishonest},
                 {"challenger dishonest", &challenger_dishonest},
                 {"both", &both},
                 {"none", &none}});
  }
};

// One game of the scenario.
inline void play_one(const Scenario& s, uint64_t game, Materials& materials, Played& played) {
  const std::string& arithmetic = s.arithmetic[game % s.arithmetic.size()];
  const Difference difference = s.difference[game % s.difference.size()];
  // Honest parties differ in the middle of an interval, or in its only step.
  const uint64_t step = difference == Difference::kNone ? 0 : game / s.difference.size() % 2 == 0 ? 2 : 4;
  const uint64_t seed = game * 1000003 + 17;
  SCOPED_TRACE(
      text_of(s.name, ", ", arithmetic, ", difference ", static_cast<int>(difference), " at ", step, ", seed ", seed));
  Material& material = materials.of(arithmetic, difference, step);
  const GameEnd end = play(s, material, seed);
  expect_ending(s, difference, end.verdict);
  expect_no_surprise(s, end);
  // Anybody gets the same verdict from the record.
  const auto again = dispute::replay(end.record, material.subject());
  EXPECT_TRUE(again) << again.error().message;
  if (again) {
    EXPECT_EQ(again->verdict, end.verdict);
  }
  played.of(s).add(end);
  ++played.by_scenario[s.name][name_of(end.verdict.outcome)];
}

// So many games of each scenario, of some a multiple.
inline Played play_scenarios(uint64_t games) {
  const auto scenarios = read_scenarios(ISOBIT_SCENARIOS);
  EXPECT_TRUE(scenarios) << scenarios.error().message;
  Materials materials;
  Played played;
  for (const Scenario& s : *scenarios) {
    for (uint64_t game = 0; game < games * s.weight; ++game) {
      play_one(s, game, materials, played);
      if (::testing::Test::HasFailure()) return played;
    }
    std::string text = s.name + ":";
    for (const auto& [name, n] : played.by_scenario[s.name]) text += text_of(" ", name, " ", n, ";");
    std::printf("%s\n", text.c_str());
  }
  played.print();
  return played;
}

}  // namespace isobit::adversary::simulator
