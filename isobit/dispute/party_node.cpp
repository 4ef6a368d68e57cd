#include "isobit/dispute/party_node.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/dispute/saved.h"

namespace isobit::dispute {
namespace {

constexpr std::string_view kGivenTag = "isobit.dispute-given";
constexpr uint32_t kPartyNodeVersion = 1;

}  // namespace

const char* name_of(Ignored why) {
  constexpr std::array<const char*, kIgnored> kNames = {"malformed",      "other game", "not the referee's",
                                                        "after the end",  "old",        "other question",
                                                        "of the other's", "cannot",     "not saved"};
  return kNames[static_cast<size_t>(why)];
}

Expected<PartyNode> PartyNode::open(const verify::EngagementTerms& terms, Role role, Answer answer, Save save,
                                    ByteView saved, bool restarted) {
  PartyNode node(terms, std::move(role), std::move(answer), std::move(save));
  ISOBIT_RETURN_IF_ERROR(node.restore(saved));
  node.announces_ = restarted;
  return node;
}

// One answer after the other: text tag, u32 version, bytes question, bytes message.
Status PartyNode::restore(ByteView saved) {
  ByteView rest = saved;
  while (const auto entry = take_saved_entry(rest)) {
    auto given = read_given(*entry);
    if (may_be_torn(*entry, rest) && (!given || !verify_message(*decode_message(given->message, ""), terms_))) break;
    if (!given) return tl::unexpected<Error>(std::move(given).error());
    given_.push_back(*std::move(given));
    whole_ = saved.size() - rest.size();
  }
  return {};
}

Expected<PartyNode::Given> PartyNode::read_given(ByteView entry) const {
  ByteReader r(entry, text_of("saved answer ", given_.size()));
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kGivenTag, kPartyNodeVersion));
  ISOBIT_TRY(const ByteView asked, r.bytes("question", entry.size()));
  ISOBIT_TRY(const ByteView bytes, r.bytes("answer", entry.size()));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  ISOBIT_TRY(const Asked question, decode_question(asked, "saved question"));
  ISOBIT_TRY(const Message message, decode_message(bytes, "saved answer"));
  if (message.turn != question.question.turn || (!given_.empty() && message.turn <= given_.back().question.turn)) {
    return unreadable("the saved answers are not in the order of the turns: they are of another game, or changed");
  }
  return Given{question.question, Bytes(bytes.begin(), bytes.end()), commit::sha256(message.body)};
}

std::vector<Bytes> PartyNode::ignore(Ignored why) {
  ++counts_.ignored[static_cast<size_t>(why)];
  return {};
}

// Whether so many answers of this party's, and no others, were said.
bool PartyNode::knows(const std::vector<Referee::Said>& said, size_t answers) const {
  size_t own = 0;
  for (const Referee::Said& s : said) {
    if (s.party != role_.party) continue;
    if (own == answers || s.body != given_[own].body) return false;
    ++own;
  }
  return own == answers;
}

std::vector<Bytes> PartyNode::take_question(const Asked& asked) {
  const Question& q = asked.question;
  if (!given_.empty() && q.turn < given_.back().question.turn) return ignore(Ignored::kOld);
  const bool again = !given_.empty() && q.turn == given_.back().question.turn;
  if (!knows(asked.said, given_.size() - (again ? 1 : 0)) || (again && q != given_.back().question)) {
    return ignore(Ignored::kOther);
  }
  if (again) {
    ++counts_.repeated;
    return {given_.back().message};
  }
  if (!q.asked[static_cast<size_t>(role_.party)]) return ignore(Ignored::kNotAsked);
  std::vector<Bytes> out;
  if (announces_) out.push_back(encode(sign_restart(q.turn, q.history, terms_, role_.key)));
  const auto body = answer_(q);
  if (!body) {
    ignore(Ignored::kCannot);
    return out;
  }
  const Bytes said = encode(*body);
  Given given{q, encode(sign_message(q.turn, q.history, said, terms_, role_.key)), commit::sha256(said)};
  ByteWriter entry;
  write_frame(entry, kGivenTag, kPartyNodeVersion);
  entry.bytes(encode(asked));
  entry.bytes(given.message);
  const Bytes kept = saved_entry(entry.view());
  if (!save_(kept)) {
    ignore(Ignored::kNotSaved);
    return out;
  }
  whole_ += kept.size();
  ++counts_.answered;
  announces_ = false;
  out.push_back(given.message);
  given_.push_back(std::move(given));
  return out;
}

std::vector<Bytes> PartyNode::receive(ByteView message, uint64_t now) {
  if (has_tag(message, kClosingTag)) {
    const auto closing = decode_closing(message, "closing");
    if (!closing) return ignore(Ignored::kMalformed);
    if (closing->challenger != role_.challenger) return ignore(Ignored::kOtherGame);
    if (!verify_closing(*closing, terms_)) return ignore(Ignored::kNotReferee);
    heard_ = now;
    closing_ = *closing;
    return {};
  }
  const auto asked = decode_question(message, "question");
  if (!asked) return ignore(Ignored::kMalformed);
  if (asked->challenger != role_.challenger) return ignore(Ignored::kOtherGame);
  if (!verify_question(*asked, terms_)) return ignore(Ignored::kNotReferee);
  if (closing_) return ignore(Ignored::kOver);
  heard_ = now;
  return take_question(*asked);
}

std::vector<Bytes> PartyNode::tick(uint64_t now, uint64_t silence) {
  if (closing_ || given_.empty() || now < heard_ + silence) return {};
  heard_ = now;
  return {given_.back().message};
}

}  // namespace isobit::dispute
