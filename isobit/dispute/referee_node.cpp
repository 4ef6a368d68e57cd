#include "isobit/dispute/referee_node.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/dispute/saved.h"

namespace isobit::dispute {
namespace {

constexpr std::string_view kKeptTag = "isobit.dispute-kept";
constexpr uint32_t kRefereeNodeVersion = 1;

}  // namespace

RefereeNode::RefereeNode(Subject subject, const commit::PublicKey& challenger, commit::SecretKey key,
                         uint64_t repeat_every, Save save)
    : referee_(std::move(subject), challenger),
      key_(std::move(key)),
      repeat_every_(repeat_every),
      save_(std::move(save)) {
  ISOBIT_CHECK(repeat_every > 0 && terms().referee_key == key_.public_key());
}

Expected<std::unique_ptr<RefereeNode>> RefereeNode::open(Subject subject, const commit::PublicKey& challenger,
                                                         commit::SecretKey key, uint64_t repeat_every, Save save,
                                                         ByteView saved, uint64_t now) {
  std::unique_ptr<RefereeNode> node(
      new RefereeNode(std::move(subject), challenger, std::move(key), repeat_every, std::move(save)));
  ISOBIT_RETURN_IF_ERROR(node->restore(saved));
  if (node->referee_.verdict()) {
    node->close(now);
  } else {
    node->begin_turn(now);
  }
  node->next_repeat_ = now;
  return node;
}

Status RefereeNode::restore(ByteView saved) {
  ByteView rest = saved;
  while (const auto entry = take_saved_entry(rest)) {
    const Status restored = restore_entry(*entry);
    if (!restored && may_be_torn(*entry, rest)) break;
    ISOBIT_RETURN_IF_ERROR(restored);
    whole_ = saved.size() - rest.size();
  }
  return {};
}

// text tag, u32 version, u8 kind, bytes. An error: nothing of it counts.
Status RefereeNode::restore_entry(ByteView entry) {
  ByteReader r(entry, "saved dispute");
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kKeptTag, kRefereeNodeVersion));
  ISOBIT_TRY(const uint8_t kind, r.u8("kind"));
  ISOBIT_TRY(const ByteView bytes, r.bytes("what counted", entry.size()));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  if (referee_.verdict()) return unreadable("saved dispute: something follows its end");
  if (kind == static_cast<uint8_t>(Kept::kMessage)) {
    const auto receipt = referee_.receive(bytes);
    if (!receipt.counts) return unreadable("saved dispute: a message does not count: " + receipt.why_not);
  } else if (kind == static_cast<uint8_t>(Kept::kForfeit)) {
    ISOBIT_TRY(const Closing closing, decode_closing(bytes, "saved dispute"));
    if (!verify_closing(closing, terms())) return unreadable("saved dispute: the forfeit is not signed by its referee");
    ISOBIT_RETURN_IF_ERROR(referee_.expire(closing.outcome));
  } else if (kind == static_cast<uint8_t>(Kept::kEquivocation)) {
    ISOBIT_TRY(const Equivocation two, decode_equivocation(bytes, "saved dispute"));
    ISOBIT_RETURN_IF_ERROR(referee_.convict(two));
  } else {
    return r.fail("kind", text_of("is ", int{kind}, ", at most 2"));
  }
  return {};
}

void RefereeNode::keep(Kept kind, ByteView bytes) {
  ByteWriter entry;
  write_frame(entry, kKeptTag, kRefereeNodeVersion);
  entry.u8(static_cast<uint8_t>(kind));
  entry.bytes(bytes);
  const Bytes more = saved_entry(entry.view());
  unsaved_.insert(unsaved_.end(), more.begin(), more.end());
}

// Whether all that counted is; tries to.
bool RefereeNode::is_saved() {
  if (unsaved_.empty()) return true;
  if (!save_(unsaved_)) return false;
  whole_ += unsaved_.size();
  unsaved_.clear();
  return true;
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

Closing RefereeNode::closing_of(Outcome outcome) const {
  const Question& open = referee_.question();
  return sign_closing({referee_.challenger(), open.turn, open.history, outcome, {}}, terms(), key_);
}

void RefereeNode::close(uint64_t now) {
  closing_ = closing_of(referee_.verdict()->outcome);
  closed_at_ = now;
}

// What a message led to: a new turn, or the end, is told at once.
std::vector<Outgoing> RefereeNode::after(uint64_t now) {
  if (closing_) {  // somebody speaks who may not know it
    if (now < next_repeat_) return {};
  } else if (!is_saved()) {  // nothing follows from it yet
    return {};
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
    const bool was_over = referee_.verdict().has_value();
    if (referee_.receive(message).counts) keep(Kept::kMessage, message);
    if (!was_over && referee_.equivocation()) keep(Kept::kEquivocation, encode(*referee_.equivocation()));
  }
  return after(now);
}

std::vector<Outgoing> RefereeNode::tick(uint64_t now) {
  if (!unsaved_.empty()) return after(now);
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
      keep(Kept::kForfeit, encode(closing_of(outcome)));
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
