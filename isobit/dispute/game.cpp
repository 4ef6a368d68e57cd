#include "isobit/dispute/game.h"

#include "isobit/base/text.h"

namespace isobit::dispute {

Game::Game(const Subject& subject) : subject_(subject) {
  question_.kind = subject.receipt ? Kind::kOutputs : Kind::kChallenge;
  if (!subject.receipt) return;
  challenge_.parts = parts_of(subject);
  graph_parts_ = GraphParts::of(challenge_.parts);
  trainer().outputs = InferenceClaim::of(*subject.receipt);
}

Status Game::take(Party party, Body body) {
  return std::visit([&](auto& b) { return take_body(party, std::move(b)); }, body);
}

void Game::end_turn() {
  switch (question_.kind) {
    case Kind::kChallenge:
      return compare_runs();
    case Kind::kSteps:
      return compare_steps();
    case Kind::kValues:
      return compare_values();
    case Kind::kTiles:
      return begin_descent(false);
    case Kind::kParts:
      return go_down();
    case Kind::kLeaf:
      return compare_leaves();
    case Kind::kNode:
      return begin_element();
    case Kind::kStates:
      return compare_states();
    case Kind::kGrounds:
      return settle_element();
    case Kind::kLoss:
      return settle_loss();
    case Kind::kBatch:
      return settle_batch();
    case Kind::kSample:
      return settle_sample();
    case Kind::kLog:
      return settle_by_log();
    case Kind::kEntry:
      return begin_accusation();
    case Kind::kOutputs:
      return begin_inference();
    case Kind::kSums:
      return compare_sums();
    case Kind::kGraph:
      return begin_scoring();
    case Kind::kScore:
      return settle_score();
  }
}

void Game::ask(Kind kind, bool of_trainer, bool of_challenger) {
  question_.kind = kind;
  question_.asked = {of_trainer, of_challenger};
}

void Game::conclude(Outcome outcome, Level level, std::string reason) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.level = level;
  verdict.reason = std::move(reason);
  if (question_.step > 0 && !subject_.receipt) verdict.step = question_.step;
  if (question_.of_evaluation) {
    verdict.sample = question_.sample;
    verdict.metric = metric_;
  }
  if (has_entry_) {
    const train::TraceEntry& e = entry();
    verdict.entry = question_.entry;
    verdict.value = e.name;
    verdict.dtype = e.dtype;
    if (e.node >= 0) verdict.node = static_cast<uint64_t>(e.node);
  }
  if (has_element_) {
    verdict.element = DisputedElement{question_.element, trainer().claim, challenger().claim, std::nullopt};
  }
  verdict.op = op_;
  verdict_ = std::move(verdict);
}

void Game::conclude(bool trainer_wrong, bool challenger_wrong, Level level, std::string reason) {
  ISOBIT_CHECK(trainer_wrong || challenger_wrong);
  conclude(!challenger_wrong ? Outcome::kTrainerWrong
           : trainer_wrong   ? Outcome::kBothWrong
                             : Outcome::kChallengerWrong,
           level, std::move(reason));
}

Game::Found Game::found_of(bool of_trainer, bool of_challenger, const std::string& what) {
  return {of_trainer ? what : "", of_challenger ? what : ""};
}

void Game::conclude(const Found& found, Level level) {
  const auto& [of_trainer, of_challenger] = found;
  std::string reason;
  if (!of_trainer.empty()) reason = "the trainer: " + of_trainer;
  if (!of_trainer.empty() && !of_challenger.empty()) reason += "; ";
  if (!of_challenger.empty()) {
    reason += "the challenger: " + (of_challenger == of_trainer ? "the same" : of_challenger);
  }
  conclude(!of_trainer.empty(), !of_challenger.empty(), level, std::move(reason));
}

void Game::forfeit(bool of_trainer, bool of_challenger) {
  ISOBIT_CHECK(of_trainer || of_challenger);
  const std::string who = of_trainer && of_challenger ? "neither party" : of_trainer ? "the trainer" : "the challenger";
  conclude(!of_challenger ? Outcome::kTrainerForfeits
           : of_trainer   ? Outcome::kBothForfeit
                          : Outcome::kChallengerForfeits,
           Level::kConduct, who + (of_trainer && of_challenger ? " answered in time" : " did not answer in time"));
}

void Game::convict(Party party, uint64_t turn) {
  conclude(party == Party::kTrainer, party == Party::kChallenger, Level::kConduct,
           text_of("the ", name_of(party), " signed two different answers to one question, that of turn ", turn));
}

}  // namespace isobit::dispute
