#include "isobit/dispute/referee_node.h"

#include "isobit/base/frame.h"

namespace isobit::dispute {

RefereeNode::RefereeNode(Subject subject, const commit::PublicKey& challenger, commit::SecretKey key,
                         uint64_t repeat_every, uint64_t now)
    : referee_(std::move(subject), challenger), key_(std::move(key)), repeat_every_(repeat_every) {
  ISOBIT_CHECK(repeat_every > 0 && terms().referee_key == key_.public_key());
  begin_turn(now);
  next_repeat_ = now;
}

void RefereeNode::begin_turn(uint64_t now) {
  turn_ = referee_.question().turn;
  asked_ = encode(sign_question({referee_.challenger(), referee_.question(), referee_.said(), {}}, terms(), key_));
  deadline_.fill(now + terms().response_seconds);
  restarted_.fill(false);
}

std::vector<Outgoing> RefereeNode::ask() {
  std::vector<Outgoing> out;
  for (const Party party : {Party::kTrainer, Party::kChallenger}) {
    if (closing_) out.push_back({party, encode(*closing_)});
    if (!closing_ && referee_.awaits(party)) out.push_back({party, asked_});
  }
  return out;
}

void RefereeNode::close(uint64_t now) {
  const Question& open = referee_.question();
  closing_ =
      sign_closing({referee_.challenger(), open.turn, open.history, referee_.verdict()->outcome, {}}, terms(), key_);
  closed_at_ = now;
}

// What a message led to: a new turn, or the end, is told at once.
std::vector<Outgoing> RefereeNode::after(uint64_t now) {
  if (closing_) {  // somebody speaks who may not know it
    if (now < next_repeat_) return {};
  } else if (referee_.verdict()) {
    close(now);
  } else if (referee_.question().turn != turn_) {
    begin_turn(now);
  } else {
    return {};
  }
  next_repeat_ = now + repeat_every_;
  return ask();
}

bool RefereeNode::take_restart(ByteView message, uint64_t now) {
  const auto restart = decode_restart(message, "restart");
  if (!restart || closing_) return false;
  const bool of_trainer = restart->key == referee_.subject().engagement.trainer_key;
  if (!of_trainer && restart->key != referee_.challenger()) return false;
  const Party party = of_trainer ? Party::kTrainer : Party::kChallenger;
  const Question& open = referee_.question();
  if (restart->turn != open.turn || restart->history != open.history || !referee_.awaits(party)) return false;
  const auto p = static_cast<size_t>(party);
  if (restarted_[p] || !verify_restart(*restart, terms())) return false;
  restarted_[p] = true;
  deadline_[p] = std::max(deadline_[p], now + terms().restart_seconds);
  return true;
}

std::vector<Outgoing> RefereeNode::receive(ByteView message, uint64_t now) {
  if (has_tag(message, kRestartTag)) {
    ++(take_restart(message, now) ? counts_.restarts : counts_.dropped_restarts);
  } else {
    (void)referee_.receive(message);  // it counts what it drops
  }
  return after(now);
}

std::vector<Outgoing> RefereeNode::tick(uint64_t now) {
  if (!referee_.verdict()) {
    const auto late = [&](Party party) {
      return referee_.awaits(party) && now >= deadline_[static_cast<size_t>(party)];
    };
    const bool trainer = late(Party::kTrainer), challenger = late(Party::kChallenger);
    if (trainer || challenger) {
      const Outcome outcome = !challenger ? Outcome::kTrainerForfeits
                              : trainer   ? Outcome::kBothForfeit
                                          : Outcome::kChallengerForfeits;
      ISOBIT_CHECK(referee_.expire(outcome).has_value());
      return after(now);
    }
  }
  if (now < next_repeat_ || (closing_ && now > closed_at_ + terms().response_seconds)) return {};
  next_repeat_ = now + repeat_every_;
  return ask();
}

Record RefereeNode::record() const {
  ISOBIT_CHECK(closing_.has_value());
  Record record{referee_.subject().engagement, referee_.record(), {}};
  if (is_forfeit(closing_->outcome)) record.ending = *closing_;
  if (referee_.equivocation()) record.ending = *referee_.equivocation();
  return record;
}

}  // namespace isobit::dispute
