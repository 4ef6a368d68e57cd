#include "isobit/adversary/simulator/world_for_test.h"

#include <algorithm>
#include <numeric>

#include "isobit/adversary/simulator/failures_for_test.h"
#include "isobit/adversary/simulator/network_for_test.h"
#include "isobit/base/text.h"

namespace isobit::adversary::simulator {
namespace {

using dispute::Party;

constexpr std::array<Party, 2> kParties = {Party::kTrainer, Party::kChallenger};

// A party on a machine that fails, and what it does to its messages if it is dishonest.
class Machine {
 public:
  Machine(const Scenario& scenario, Party party, Material& material, const Lie& lie, const Lie& of_trainer,
          const verify::Transcript& transcript, dispute::Challenge challenge, Random& random, Traffic& traffic)
      : conduct_(party == Party::kTrainer ? scenario.trainer_conduct : scenario.challenger_conduct),
        party_(party),
        key_(run::testing::key(party == Party::kTrainer ? kTrainerSeed : kChallengerSeed)),
        material_(material),
        lie_(lie),
        witness_(material.honest(party), lie, of_trainer),
        transcript_(transcript),
        challenge_(std::move(challenge)),
        random_(random),
        failures_(scenario.machines, scenario.machines.crash, random, traffic),
        misbehaves_from_(1 + random.below(8)) {
    start(false);
  }

  bool is_up() const { return node_.has_value(); }
  std::vector<Bytes> receive(ByteView message, uint64_t now) {
    if (!node_) return {};
    std::vector<Bytes> out = node_->receive(message, now);
    if (failures_.dies()) {
      crash(now);
      return {};
    }
    return misbehave(std::move(out));
  }

  std::vector<Bytes> tick(uint64_t now) {
    if (!node_) {
      if (failures_.is_down(now)) return {};
      start(true);
      if (!node_) return {};
    }
    if (failures_.tick(now)) {
      crash(now);
      return {};
    }
    std::vector<Bytes> out = misbehave(node_->tick(now, kSilence));
    if (conduct_ == Conduct::kFloods) flood(out);
    return out;
  }

  bool was_told() const { return node_ && node_->closing(); }
  dispute::PartyNode::Counts counts() const {
    dispute::PartyNode::Counts sum = before_;
    if (node_) add(sum, node_->counts());
    return sum;
  }

 private:
  static void add(dispute::PartyNode::Counts& sum, const dispute::PartyNode::Counts& more) {
    sum.answered += more.answered;
    sum.repeated += more.repeated;
    for (size_t i = 0; i < sum.ignored.size(); ++i) sum.ignored[i] += more.ignored[i];
  }

  // With an empty memory, and what is on the disk. What is no longer what was saved may be nothing to go on from.
  void start(bool again) {
    player_ =
        std::make_unique<dispute::Player>(material_.subject(), material_.parts(), party_, witness_,
                                          party_ == Party::kTrainer ? &transcript_ : nullptr, key_, material_.pool());
    player_->forge_states(lie_.forge);
    const auto answer = [this](const dispute::Question& q) -> Expected<dispute::Body> {
      if (q.kind == dispute::Kind::kChallenge) return challenge_;
      if (lie_.no_tile.contains(q.entry) && !q.of_states) {
        if (q.kind == dispute::Kind::kParts) {
          return dispute::PartRoots{dispute::part_roots(leaves_with_no_tile(material_, lie_, q.entry), q.part)};
        }
        if (q.kind == dispute::Kind::kLeaf && q.part.begin == lie_.no_tile.at(q.entry)) {
          return dispute::LeafShowing{Bytes(kNoTile.begin(), kNoTile.end())};
        }
      }
      ISOBIT_TRY(dispute::Body body, player_->answer(q));
      auto* node = std::get_if<dispute::NodeShowing>(&body);
      if (conduct_ == Conduct::kShowsMore && node != nullptr) ISOBIT_RETURN_IF_ERROR(show_all(q, *node));
      return body;
    };
    const auto save = [this](ByteView more) { return failures_.save(more); };
    if (again) failures_.rot();
    auto node =
        dispute::PartyNode::open(material_.terms(), {party_, run::testing::key(kChallengerSeed).public_key(), key_},
                                 answer, save, failures_.disk(), again);
    if (!node) {
      ISOBIT_CHECK(failures_.has_rotted());
      failures_.stay_down();
      return;
    }
    node_.emplace(*std::move(node));
    failures_.disk().resize(node_->whole());
  }

  // All tiles of all operands, where those that say where an element is from would do.
  Status show_all(const dispute::Question& q, dispute::NodeShowing& showing) {
    const auto& schema = witness_.schema();
    const auto index = static_cast<uint64_t>(schema[q.entry].node);
    ISOBIT_TRY(const auto node,
               dispute::resolve(showing.node, index, dispute::GraphParts::of(material_.parts()), schema));
    showing.guides.clear();
    for (uint32_t i = 0; i < node.operands.size(); ++i) {
      const dispute::Operand& operand = node.operands[i];
      if (operand.from != dispute::Operand::From::kTrace) continue;
      ISOBIT_TRY(const auto values, witness_.values(q.step, {operand.entry}));
      std::vector<uint64_t> tiles(static_cast<size_t>(operand.identity.grid().tiles()));
      std::iota(tiles.begin(), tiles.end(), uint64_t{0});
      showing.guides.push_back(
          {false, i, dispute::ShownTiles::of(operand.identity, values.at(operand.entry), tiles, material_.pool())});
    }
    return {};
  }

  void crash(uint64_t now) {
    add(before_, node_->counts());
    node_.reset();
    player_.reset();
    failures_.crash(now);
  }

  Bytes signed_anew(const dispute::Message& m, Bytes body, const commit::SecretKey& key) const {
    return encode(dispute::sign_message(m.turn, m.history, std::move(body), material_.terms(), key));
  }

  std::vector<Bytes> misbehave(std::vector<Bytes> out) {
    if (conduct_ == Conduct::kNone) return out;
    std::vector<Bytes> changed;
    for (Bytes& bytes : out) {
      const auto message = dispute::decode_message(bytes, "sent");
      if (!message || message->turn < misbehaves_from_) {
        changed.push_back(std::move(bytes));
        continue;
      }
      last_ = *message;
      Bytes body = message->body;
      flip_bits(body, random_);
      switch (conduct_) {
        case Conduct::kStalls:
          break;
        case Conduct::kChanges:  // always the same change: it is no second answer
          body = message->body;
          body[message->body.size() * 2 / 3] ^= 1;
          changed.push_back(signed_anew(*message, std::move(body), key_));
          break;
        case Conduct::kUnsigned: {
          dispute::Message other = *message;
          other.signature.bytes[random_.below(64)] ^= 1;
          changed.push_back(encode(other));
          break;
        }
        case Conduct::kOtherKey:
          changed.push_back(signed_anew(*message, message->body, run::testing::key(kStrangerSeed)));
          break;
        case Conduct::kEquivocates:
          changed.push_back(signed_anew(*message, std::move(body), key_));
          changed.push_back(std::move(bytes));
          break;
        case Conduct::kNone:
        case Conduct::kFloods:
        case Conduct::kShowsMore:
          changed.push_back(std::move(bytes));
      }
    }
    return changed;
  }

  // Nothing of it is an answer, but much of it looks like one.
  void flood(std::vector<Bytes>& out) {
    for (int i = 0; i < 3; ++i) {
      Bytes junk(random_.below(300));
      for (uint8_t& byte : junk) byte = static_cast<uint8_t>(random_.next());
      out.push_back(std::move(junk));
    }
    if (!last_) return;
    out.push_back(signed_anew({last_->turn + random_.below(3), random_.digest(), {}, {}, {}}, last_->body, key_));
    out.push_back(signed_anew(*last_, last_->body, run::testing::key(kStrangerSeed)));
    out.push_back(signed_anew(*last_, last_->body, key_));
    out.push_back(encode(dispute::sign_restart(last_->turn + 1, last_->history, material_.terms(), key_)));
  }

  const Conduct conduct_;
  const Party party_;
  const commit::SecretKey key_;
  Material& material_;
  const Lie& lie_;
  LyingWitness witness_;
  const verify::Transcript& transcript_;
  const dispute::Challenge challenge_;
  Random& random_;
  Failures failures_;
  const uint64_t misbehaves_from_;  // the turn
  std::unique_ptr<dispute::Player> player_;
  std::optional<dispute::PartyNode> node_;
  std::optional<dispute::Message> last_;
  dispute::PartyNode::Counts before_;  // of the nodes that crashed
};

// The referee's, which fails as theirs do.
class RefereeMachine {
 public:
  RefereeMachine(const MachineFaults& faults, Material& material, Random& random, Traffic& traffic)
      : material_(material), failures_(faults, faults.referee_crash, random, traffic) {
    start(0);
  }

  std::vector<dispute::Outgoing> receive(ByteView message, uint64_t now) {
    if (!node_) return {};
    return unless_it_died(node_->receive(message, now), now);
  }
  std::vector<dispute::Outgoing> tick(uint64_t now) {
    if (!node_) {
      if (failures_.is_down(now)) return {};
      start(now);
    }
    if (failures_.tick(now)) {
      crash(now);
      return {};
    }
    return unless_it_died(node_->tick(now), now);
  }
  const dispute::RefereeNode* node() const { return node_.get(); }
  bool is_closed() const { return node_ && node_->closing(); }
  // Of all that ran; what counted is that of the last, which has what the others saved.
  dispute::Referee::Counts counts() const {
    dispute::Referee::Counts sum = node_->referee().counts();
    sum.dropped += before_.dropped;
    for (size_t i = 0; i < sum.by_reason.size(); ++i) sum.by_reason[i] += before_.by_reason[i];
    return sum;
  }

 private:
  void start(uint64_t now) {
    const auto save = [this](ByteView more) { return failures_.save(more); };
    node_ = dispute::RefereeNode::open(material_.subject(), run::testing::key(kChallengerSeed).public_key(),
                                       run::testing::key(kRefereeSeed), kRepeatEvery, save, failures_.disk(), now)
                .value();
    failures_.disk().resize(node_->whole());
  }
  std::vector<dispute::Outgoing> unless_it_died(std::vector<dispute::Outgoing> out, uint64_t now) {
    if (!failures_.dies()) return out;
    crash(now);
    return {};
  }
  void crash(uint64_t now) {
    const dispute::Referee::Counts& counts = node_->referee().counts();
    before_.dropped += counts.dropped;
    for (size_t i = 0; i < counts.by_reason.size(); ++i) before_.by_reason[i] += counts.by_reason[i];
    node_.reset();
    failures_.crash(now);
  }

  Material& material_;
  Failures failures_;
  std::unique_ptr<dispute::RefereeNode> node_;
  dispute::Referee::Counts before_;
};

}  // namespace

void Traffic::operator+=(const Traffic& o) {
  sent += o.sent;
  lost += o.lost;
  repeated += o.repeated;
  corrupted += o.corrupted;
  cut_off += o.cut_off;
  delivered += o.delivered;
  crashes += o.crashes;
  torn_saves += o.torn_saves;
  full_disks += o.full_disks;
  rotten_disks += o.rotten_disks;
}

GameEnd play(const Scenario& scenario, Material& material, uint64_t seed) {
  Random random(seed);
  GameEnd end;
  const auto lie = [&](const std::vector<LieKind>& kinds) {
    return make_lie(kinds[random.below(kinds.size())], material, random);
  };
  const std::array<Lie, 2> lies = {lie(scenario.trainer), lie(scenario.challenger)};
  const verify::Transcript claimed = claimed_transcript(material, lies[0]);
  // Of the heads that the trainer signed, any that covers the interval.
  const Doubt doubt = doubt_of(material, lies[0], lies[1]);
  const dispute::Challenge challenge = challenge_to(
      material, claimed, doubt, lies[1], doubt.least_leaves + random.below(claimed.size() - doubt.least_leaves + 1));
  Network network(scenario.network, random, end.traffic);
  std::array<Machine, 2> machines = {
      Machine(scenario, Party::kTrainer, material, lies[0], lies[0], claimed, challenge, random, end.traffic),
      Machine(scenario, Party::kChallenger, material, lies[1], lies[0], claimed, challenge, random, end.traffic)};
  RefereeMachine referee(scenario.machines, material, random, end.traffic);
  const auto machine = [&](Party party) -> Machine& { return machines[static_cast<size_t>(party)]; };
  const uint64_t response = material.terms().response_seconds,
                 most = 100 * (response + material.terms().restart_seconds);
  const auto ask = [&](std::vector<dispute::Outgoing> out, uint64_t now) {
    for (dispute::Outgoing& o : out) network.send(o.to, false, std::move(o.bytes), now);
  };
  const auto reply = [&](Party party, std::vector<Bytes> out, uint64_t now) {
    for (Bytes& bytes : out) network.send(party, true, std::move(bytes), now);
  };
  uint64_t now = 0, closed_at = 0;
  // Until both know, or the referee no longer tells them.
  for (; !referee.is_closed() || (now < closed_at + response && !(machines[0].was_told() && machines[1].was_told()));
       ++now) {
    ISOBIT_CHECK(now < most);
    network.tick(now);
    while (auto arrival = network.take(now)) {
      if (arrival->to_referee) {
        ask(referee.receive(arrival->bytes, now), now);
      } else {
        reply(arrival->party, machine(arrival->party).receive(arrival->bytes, now), now);
      }
    }
    for (const Party party : kParties) reply(party, machine(party).tick(now), now);
    ask(referee.tick(now), now);
    if (!referee.is_closed()) closed_at = now;
  }
  const dispute::RefereeNode& node = *referee.node();
  end.verdict = *node.referee().verdict();
  ISOBIT_CHECK(end.verdict.outcome == node.closing()->outcome);
  end.of_evaluation = doubt.of_evaluation;
  end.turns = node.referee().question().turn;
  end.seconds = closed_at;
  end.referee = referee.counts();
  end.restarts = node.counts();
  for (const Party party : kParties) {
    end.parties[static_cast<size_t>(party)] = machine(party).counts();
    end.told[static_cast<size_t>(party)] = machine(party).was_told();
  }
  end.record = node.record();
  return end;
}

Settled settle(Material& material, const std::array<Lie, 2>& lies, std::optional<uint64_t> head) {
  const verify::Transcript claimed = claimed_transcript(material, lies[0]);
  const std::array<commit::SecretKey, 2> keys = {run::testing::key(kTrainerSeed), run::testing::key(kChallengerSeed)};
  std::array<LyingWitness, 2> witnesses = {LyingWitness(material.honest(Party::kTrainer), lies[0], lies[0]),
                                           LyingWitness(material.honest(Party::kChallenger), lies[1], lies[0])};
  std::array<dispute::Player, 2> players = {dispute::Player(material.subject(), material.parts(), Party::kTrainer,
                                                            witnesses[0], &claimed, keys[0], material.pool()),
                                            dispute::Player(material.subject(), material.parts(), Party::kChallenger,
                                                            witnesses[1], nullptr, keys[1], material.pool())};
  for (size_t p = 0; p < 2; ++p) players[p].forge_states(lies[p].forge);
  dispute::Referee referee(material.subject(), keys[1].public_key());
  const auto say = [&](size_t p, const dispute::Question& q, const dispute::Body& body) {
    const auto receipt = referee.receive(players[p].sign(q, body));
    ISOBIT_CHECK(receipt.counts);
  };
  const Doubt doubt = doubt_of(material, lies[0], lies[1]);
  say(1, referee.question(), challenge_to(material, claimed, doubt, lies[1], head.value_or(claimed.size())));
  while (!referee.verdict()) {
    const dispute::Question q = referee.question();
    for (size_t p = 0; p < 2; ++p) {
      if (q.asked[p]) say(p, q, players[p].answer(q).value());
    }
  }
  return {*referee.verdict(),
          referee.question().turn,
          referee.counts(),
          {material.subject().engagement, referee.record(), {}}};
}

}  // namespace isobit::adversary::simulator
