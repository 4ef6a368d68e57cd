#include "isobit/adversary/simulator/cast_for_test.h"

#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::adversary::simulator {
namespace {

using dispute::Party;

verify::Transcript transcript_of(const Material& material, const Tale& tale, const Lie& lie) {
  return tale.honest == Party::kTrainer ? material.transcript() : claimed_transcript(material, lie);
}

commit::SecretKey key_of(Party party) {
  return run::testing::key(party == Party::kTrainer ? kTrainerSeed : kChallengerSeed);
}
commit::PublicKey challenger() { return run::testing::key(kChallengerSeed).public_key(); }

dispute::Player player(Material& material, Party party, dispute::Witness& witness, const verify::Transcript& claimed) {
  return {material.subject(), material.parts(), party, witness, party == Party::kTrainer ? &claimed : nullptr,
          key_of(party),      material.pool()};
}

std::string key_of(const dispute::Question& q) { return text_of(q.turn, " ", commit::hex_of(q.history)); }

}  // namespace

std::string label_of(ByteView bytes) {
  if (has_tag(bytes, dispute::kClosingTag)) return "closing";
  if (const auto asked = dispute::decode_question(bytes, "")) return text_of("question ", asked->question.turn);
  if (const auto restart = dispute::decode_restart(bytes, "")) return text_of("restart ", restart->turn);
  const auto message = dispute::decode_message(bytes, "");
  return message ? text_of("answer ", message->turn) : "junk";
}

Cast::Cast(Material& material, const Tale& tale)
    : material_(material),
      tale_(tale),
      dishonest_(dispute::other(tale.honest)),
      random_(tale.seed),
      lie_(make_lie(tale.lie, material, random_)),
      claimed_(transcript_of(material, tale, lie_)),
      challenge_(challenge_to(
          material, claimed_,
          tale.honest == Party::kTrainer ? doubt_of(material, truth_, lie_) : doubt_of(material, lie_, truth_),
          tale.honest == Party::kTrainer ? lie_ : truth_, claimed_.size())),
      lying_(material.honest(), lie_, tale.honest == Party::kTrainer ? truth_ : lie_),
      truthful_(material.honest(), truth_, tale.honest == Party::kTrainer ? truth_ : lie_) {}

// One player, one game: each question is asked of one that was asked nothing before.
Expected<dispute::Body> Cast::answer(dispute::Player player, const dispute::Question& question) const {
  if (question.kind == dispute::Kind::kChallenge) return challenge_;
  return player.answer(question);
}

dispute::PartyNode Cast::open_party(Bytes& disk, bool restarted) {
  const auto answer_once = [this](const dispute::Question& q) -> Expected<dispute::Body> {
    const auto known = answers_.find(key_of(q));
    if (known != answers_.end()) return known->second;
    return answers_.emplace(key_of(q), answer(player(material_, tale_.honest, truthful_, claimed_), q)).first->second;
  };
  const auto save = [&disk](ByteView more) -> Status {
    disk.insert(disk.end(), more.begin(), more.end());
    return {};
  };
  const Bytes saved = disk;
  return dispute::PartyNode::open(material_.terms(), {tale_.honest, challenger(), key_of(tale_.honest)}, answer_once,
                                  save, saved, restarted)
      .value();
}

std::unique_ptr<dispute::RefereeNode> Cast::open_referee(Bytes& disk, uint64_t now) {
  const auto save = [&disk](ByteView more) -> Status {
    disk.insert(disk.end(), more.begin(), more.end());
    return {};
  };
  const Bytes saved = disk;
  return dispute::RefereeNode::open(material_.subject(), challenger(), run::testing::key(kRefereeSeed), seconds(1),
                                    save, saved, now)
      .value();
}

const std::vector<Bytes>& Cast::variants(const dispute::Question& q) {
  const auto [at, is_new] = variants_.try_emplace(key_of(q));
  if (!is_new || !q.asked[static_cast<size_t>(dishonest_)]) return at->second;
  std::vector<Bytes>& out = at->second;
  const auto say = [&](Bytes body) {
    Bytes bytes =
        encode(dispute::sign_message(q.turn, q.history, std::move(body), material_.terms(), key_of(dishonest_)));
    if (std::ranges::find(out, bytes) == out.end()) out.push_back(std::move(bytes));
  };
  for (dispute::Witness* witness : {&lying_, &truthful_}) {
    if (witness == &truthful_ && !tale_.mixes) continue;
    dispute::Player fresh = player(material_, dishonest_, *witness, claimed_);
    if (witness == &lying_) fresh.forge_states(lie_.forge);
    if (const auto body = answer(std::move(fresh), q)) say(encode(*body));
  }
  if (tale_.mixes) say(Bytes{1, 2, 3});
  return out;
}

Party Cast::sender(ByteView bytes) const {
  const auto restart = dispute::decode_restart(bytes, "");
  const auto message = dispute::decode_message(bytes, "");
  ISOBIT_CHECK(restart || message);
  return (restart ? restart->key : message->key) == challenger() ? Party::kChallenger : Party::kTrainer;
}

}  // namespace isobit::adversary::simulator
