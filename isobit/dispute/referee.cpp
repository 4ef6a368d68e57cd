#include "isobit/dispute/referee.h"

#include "isobit/base/text.h"
#include "isobit/dispute/game.h"

namespace isobit::dispute {

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kTrainerWrong:
      return "trainer wrong";
    case Outcome::kChallengerWrong:
      return "challenger wrong";
    case Outcome::kBothWrong:
      return "both wrong";
    case Outcome::kTrainerForfeits:
      return "forfeit (trainer)";
    case Outcome::kChallengerForfeits:
      return "forfeit (challenger)";
    case Outcome::kBothForfeit:
      return "forfeit (both)";
    case Outcome::kNobodyWrong:
      return "nobody wrong";
  }
  return "?";
}

const char* name_of(Level level) {
  constexpr std::array<const char*, 8> kNames = {"run",     "step",        "trace",   "value",
                                                 "element", "partial sum", "conduct", "log"};
  return kNames[static_cast<size_t>(level)];
}

const char* name_of(Drop drop) {
  constexpr std::array<const char*, kDrops> kNames = {"after the end", "too long",    "malformed",
                                                      "no party's",    "other turn",  "repeated",
                                                      "not signed",    "two answers", "no answer"};
  return kNames[static_cast<size_t>(drop)];
}

Status Referee::check_challenger(const commit::PublicKey& key, const verify::Engagement& engagement) {
  if (engagement.engages(key)) return rejected("the challenger's key speaks for the trainer of the run");
  if (engagement.terms.referee_key == key) return rejected("the challenger's key is the referee's");
  return {};
}

Referee::Referee(Subject subject, const commit::PublicKey& challenger)
    : subject_(std::move(subject)), challenger_(challenger), game_(std::make_unique<Game>(subject_)) {
  ISOBIT_CHECK(check_challenger(challenger, subject_.engagement).has_value());
  game_->question().history = first_history(subject_.engagement.terms, challenger);
  game_->question().asked = {false, true};
  begin_turn();
}

Referee::~Referee() = default;

const Question& Referee::question() const { return game_->question(); }
const std::optional<Verdict>& Referee::verdict() const { return game_->verdict(); }

bool Referee::awaits(Party party) const {
  const auto p = static_cast<size_t>(party);
  return !verdict() && question().asked[p] && !answers_[p];
}

std::optional<Party> Referee::party_of(const commit::PublicKey& key) const {
  if (key == subject_.engagement.trainer_key) return Party::kTrainer;
  if (key == challenger_) return Party::kChallenger;
  return std::nullopt;
}

Referee::Receipt Referee::dropped(Drop drop, std::string why) {
  ++counts_.dropped;
  ++counts_.by_reason[static_cast<size_t>(drop)];
  return {false, drop, std::move(why)};
}

Referee::Receipt Referee::receive(ByteView bytes) {
  if (verdict()) return dropped(Drop::kOver, "the game is over");
  const Kind kind = question().kind;
  const uint64_t most = max_message_bytes(is_list(kind), subject_.engagement.terms);
  if (bytes.size() > most) {
    return dropped(Drop::kTooLong, text_of("the message has ", bytes.size(), " bytes, at most ", most));
  }
  auto message = decode_message(bytes, "message");
  if (!message) return dropped(Drop::kMalformed, message.error().message);
  const std::optional<Party> party = party_of(message->key);
  if (!party) return dropped(Drop::kStranger, "the key is no party's");
  const auto p = static_cast<size_t>(*party);
  if (message->turn >= turns_.size() || message->history != turns_[message->turn].history) {
    return dropped(Drop::kOtherTurn, "the message is of another turn or game");
  }
  Turn& turn = turns_[message->turn];
  if (!turn.asked[p]) return dropped(Drop::kOtherTurn, text_of("nothing is asked of the ", name_of(*party)));
  const Statement statement = statement_of(*message);
  std::optional<Statement>& first = turn.signed_first[p];
  if (first && first->body == statement.body) return dropped(Drop::kRepeated, "the answer was received before");
  if (!verify_statement(statement, subject_.engagement.terms)) {
    return dropped(Drop::kSignature, "the signature is not valid");
  }
  if (first && message->turn > 0) {
    ISOBIT_CHECK(convict({{*first, statement}}).has_value());
    return dropped(Drop::kEquivocates, verdict()->reason);
  }
  if (!awaits(*party) || message->turn != question().turn) {
    return dropped(Drop::kRepeated, "the question was answered before");
  }
  if (message->turn > 0) first = statement;
  const Status counts = [&]() -> Status {
    ISOBIT_TRY(Body body, decode_body(message->body, static_cast<size_t>(kind), subject_.rules, "message"));
    return game_->take(*party, std::move(body));
  }();
  if (!counts) return dropped(Drop::kBody, counts.error().message);
  first = statement;
  answers_[p] = std::move(*message);
  ++counts_.counted;
  counts_.bytes += bytes.size();
  if (is_list(kind)) counts_.list_bytes += bytes.size();
  if (!awaits(Party::kTrainer) && !awaits(Party::kChallenger)) end_turn();
  return {true, std::nullopt, ""};
}

void Referee::begin_turn() { turns_.push_back({question().history, question().asked, {}}); }

void Referee::end_turn() {
  Question& open = game_->question();
  for (const Party party : {Party::kTrainer, Party::kChallenger}) {
    auto& answer = answers_[static_cast<size_t>(party)];
    if (!answer) continue;
    said_.push_back({party, commit::sha256(answer->body)});
    open.history = next_history(open.history, party, said_.back().body);
    record_.push_back(encode(*answer));
    answer.reset();
  }
  ++open.turn;
  open.asked = {};
  game_->end_turn();
  begin_turn();
}

Status Referee::expire(Outcome outcome) {
  ISOBIT_CHECK(!verdict());
  const bool trainer = outcome == Outcome::kTrainerForfeits || outcome == Outcome::kBothForfeit;
  const bool challenger = outcome == Outcome::kChallengerForfeits || outcome == Outcome::kBothForfeit;
  if (!trainer && !challenger) return rejected(text_of("'", name_of(outcome), "' is no forfeit"));
  if ((trainer && !awaits(Party::kTrainer)) || (challenger && !awaits(Party::kChallenger))) {
    return rejected(text_of("'", name_of(outcome), "', and nothing is open that it had to answer"));
  }
  game_->forfeit(trainer, challenger);
  for (const auto& answer : answers_) {
    if (answer) record_.push_back(encode(*answer));
  }
  return {};
}

Status Referee::convict(const Equivocation& equivocation) {
  ISOBIT_CHECK(!verdict());
  ISOBIT_RETURN_IF_ERROR(verify_equivocation(equivocation, subject_.engagement.terms));
  const Statement& statement = equivocation.statements[0];
  const std::optional<Party> party = party_of(statement.key);
  if (!party || statement.turn >= turns_.size() || statement.history != turns_[statement.turn].history) {
    return rejected("the two statements are not of a party to this game, on a question of it");
  }
  equivocation_ = equivocation;
  game_->convict(*party, statement.turn);
  return {};
}

}  // namespace isobit::dispute
