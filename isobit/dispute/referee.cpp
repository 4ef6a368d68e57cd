#include "isobit/dispute/referee.h"

#include "isobit/base/text.h"
#include "isobit/dispute/game.h"
#include "isobit/verify/schema.h"

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
  }
  return "?";
}

const char* name_of(Level level) {
  constexpr std::array<const char*, 6> kNames = {"run", "step", "trace", "value", "element", "partial sum"};
  return kNames[static_cast<size_t>(level)];
}

Referee::Referee(Subject subject) : subject_(std::move(subject)), game_(std::make_unique<Game>(subject_)) {
  game_->question().history = first_history(subject_.engagement.terms);
  game_->question().asked = {false, true};
}

Referee::~Referee() = default;

const Question& Referee::question() const { return game_->question(); }
const std::optional<Verdict>& Referee::verdict() const { return game_->verdict(); }

bool Referee::awaits(Party party) const {
  const auto p = static_cast<size_t>(party);
  return !verdict() && question().asked[p] && !answers_[p];
}

Expected<Party> Referee::party_of(const Message& message) const {
  const verify::Engagement& engagement = subject_.engagement;
  if (message.key == engagement.trainer_key) return Party::kTrainer;
  if (engagement.engages(message.key)) return rejected("the key is engaged, but did not accept the engagement");
  if (challenger_ && message.key != *challenger_) return rejected("the key is no party's");
  return Party::kChallenger;
}

Referee::Receipt Referee::receive(ByteView bytes) {
  const auto counts = [&]() -> Status {
    if (verdict()) return rejected("the game is over");
    const uint64_t most =
        is_list(question().kind) ? verify::kMaxSchemaBytes * 2 : subject_.engagement.terms.message_bytes;
    if (bytes.size() > most) return rejected(text_of("the message has ", bytes.size(), " bytes, at most ", most));
    ISOBIT_TRY(Message message, decode_message(bytes, "message"));
    ISOBIT_TRY(const Party party, party_of(message));
    if (message.turn != question().turn || message.history != question().history) {
      return rejected("the message is of another turn or game");
    }
    if (!awaits(party)) return rejected(text_of("nothing is asked of the ", name_of(party)));
    if (!verify_message(message, subject_.engagement.terms)) return rejected("the signature is not valid");
    const auto kind = static_cast<size_t>(question().kind);
    ISOBIT_TRY(Body body, decode_body(message.body, kind, subject_.rules, "message"));
    ISOBIT_RETURN_IF_ERROR(game_->take(party, std::move(body)));
    if (!challenger_) challenger_ = message.key;
    answers_[static_cast<size_t>(party)] = std::move(message);
    return {};
  }();
  if (!counts) {
    ++counts_.dropped;
    return {false, counts.error().message};
  }
  ++counts_.counted;
  counts_.bytes += bytes.size();
  if (is_list(question().kind)) counts_.list_bytes += bytes.size();
  end_turn();
  return {true, ""};
}

void Referee::end_turn() {
  if (awaits(Party::kTrainer) || awaits(Party::kChallenger)) return;
  Question& open = game_->question();
  for (const Party party : {Party::kTrainer, Party::kChallenger}) {
    auto& answer = answers_[static_cast<size_t>(party)];
    if (!answer) continue;
    open.history = next_history(open.history, party, answer->body);
    record_.push_back(encode(*answer));
    answer.reset();
  }
  ++open.turn;
  open.asked = {};
  game_->end_turn();
}

void Referee::expire() {
  ISOBIT_CHECK(challenger_ && !verdict());
  game_->forfeit(awaits(Party::kTrainer), awaits(Party::kChallenger));
}

}  // namespace isobit::dispute
