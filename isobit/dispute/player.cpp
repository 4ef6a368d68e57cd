#include "isobit/dispute/player.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"

namespace isobit::dispute {
namespace {

ShownLeaf show_leaf(const verify::Transcript& transcript, const verify::SignedHead& head, uint64_t index) {
  const auto covered = transcript.leaf_hashes().first(head.tree.size);
  return {transcript.leaf(index), commit::prove_inclusion(covered, index)};
}

}  // namespace

Expected<Challenge> make_challenge(const verify::JobRootParts& parts, const verify::Transcript& transcript,
                                   const verify::SignedHead& head, uint64_t last, bool handed_out) {
  const verify::TranscriptRules& rules = transcript.rules();
  const bool final_leaf = handed_out || !rules.has_state(last);
  const uint64_t before = handed_out ? last : rules.committed_step_at_or_before(last - 1);
  const uint64_t behind = final_leaf ? rules.steps + 1 : last;
  if (behind >= head.tree.size) {
    return usage_error(text_of("the trainer signed for ", head.tree.size, " leaves so far, and the state after step ",
                               last, " is that of leaf ", behind, ": wait until it signs for that"));
  }
  return Challenge{parts, head, show_leaf(transcript, head, before), show_leaf(transcript, head, behind)};
}

OutputClaims make_challenge(const std::vector<verify::ReceiptTensor>& outputs) {
  OutputClaims claims;
  for (const verify::ReceiptTensor& t : outputs) claims.roots.push_back(t.root);
  return claims;
}

commit::MultiProof prove_steps(const verify::Transcript& transcript, uint64_t leaves, uint64_t first, uint64_t last) {
  std::vector<uint64_t> indices;
  for (uint64_t t = first + 1; t <= last; ++t) indices.push_back(t);
  return commit::prove_several(transcript.leaf_hashes().first(leaves), indices);
}

Bytes Player::sign(const Question& q, const Body& body) const {
  return encode(sign_message(q.turn, q.history, encode(body), subject_.engagement.terms, key_));
}

// Of what is known before anything is computed; the rest is checked where it is used.
Status Player::check(const Question& q) const {
  const auto none = [](const char* what) { return unavailable(text_of("the question is of ", what)); };
  const uint64_t steps = subject_.rules.steps;
  const bool of_run =
      q.kind == Kind::kSteps || q.kind == Kind::kLoss || q.kind == Kind::kBatch || q.kind == Kind::kSample;
  if (subject_.receipt && of_run) return none("what an inference has not");
  if (q.kind == Kind::kSteps) {
    const bool fit = q.first_step < q.last_step && q.last_step <= steps;
    return fit ? Status() : none("steps that there are not");
  }
  if (q.step < 1 || q.step > steps) return none("a step that there is not");
  if (q.kind == Kind::kValues || q.kind == Kind::kLoss || q.kind == Kind::kBatch) return {};
  if ((q.kind == Kind::kLog || q.kind == Kind::kEntry) && !subject_.rules.logged)
    return none("a log that there is not");
  if (q.kind == Kind::kEntry) return {};
  if (q.entry >= witness_.schema().size()) return none("a value that there is not");
  const train::TraceEntry& e = witness_.schema()[q.entry];
  const bool of_batch = e.kind == train::TraceEntry::Kind::kBatch;
  if (q.kind == Kind::kTiles || (!q.of_states && (q.kind == Kind::kParts || q.kind == Kind::kLeaf))) return {};
  if (q.element < 0 || q.element >= Shape(e.dims).elements()) return none("an element that there is not");
  const bool fits = q.kind == Kind::kSample ? of_batch : e.node >= 0;
  return fits ? Status() : none("a value that is not made so");
}

Expected<Body> Player::answer(const Question& q) {
  if (q.kind != Kind::kChallenge && q.kind != Kind::kOutputs) ISOBIT_RETURN_IF_ERROR(check(q));
  switch (q.kind) {
    case Kind::kChallenge:
    case Kind::kOutputs:
      break;
    case Kind::kSteps:
      return steps(q);
    case Kind::kValues:
      return values(q);
    case Kind::kTiles:
      return tiles(q);
    case Kind::kParts:
      return parts(q);
    case Kind::kLeaf:
      return leaf(q);
    case Kind::kNode:
      return node(q);
    case Kind::kStates:
      return states(q);
    case Kind::kGrounds:
      return grounds(q);
    case Kind::kLoss:
      return loss(q);
    case Kind::kBatch:
      return witness_.batch(q.step).map(
          [](verify::ShownLeaves leaves) { return Body(BatchShowing{std::move(leaves)}); });
    case Kind::kSample:
      return sample(q);
    case Kind::kLog:
      return log(q);
    case Kind::kEntry:
      return accusation(q);
  }
  return usage_error("a challenge is made, and not asked for");
}

Expected<Body> Player::steps(const Question& q) {
  StepList list;
  ISOBIT_TRY(list.points, witness_.points(q.first_step, q.last_step));
  if (party_ == Party::kTrainer) {
    if (q.leaves > transcript_->size() || q.leaves <= q.last_step) {
      return unavailable("the question is of another transcript");
    }
    list.in_transcript = prove_steps(*transcript_, q.leaves, q.first_step, q.last_step);
  }
  return list;
}

Status Player::prepare_roots(const Question& q) {
  if (!roots_.empty()) return {};
  ISOBIT_TRY(roots_, witness_.roots(q.step));
  for (const commit::TensorRoot& root : roots_) digests_.push_back(root.digest());
  return {};
}

Expected<Body> Player::values(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(prepare_roots(q));
  ValueList list{digests_, std::nullopt};
  if (party_ == Party::kChallenger) list.schema = witness_.schema();
  return list;
}

Status Player::prepare_value(const Question& q) {
  if (!tile_hashes_.empty()) return {};
  ISOBIT_TRY(auto values, witness_.values(q.step, {q.entry}));
  value_ = std::move(values.at(q.entry));
  const TensorIdentity identity = TensorIdentity::of(witness_.schema()[q.entry]);
  tile_hashes_ = commit::tile_hashes(identity.header(), value_, identity.layout(), pool_);
  return {};
}

Expected<Body> Player::tiles(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(prepare_roots(q));
  return TileTree{roots_[q.entry].tiles};
}

Expected<Body> Player::parts(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(q.of_states ? prepare_states(q) : prepare_value(q));
  const std::vector<commit::Digest>& hashes = q.of_states ? state_hashes_ : tile_hashes_;
  if (q.part.begin > hashes.size() || q.part.size > hashes.size() - q.part.begin) {
    return unavailable("the question is of a part that there is not");
  }
  return PartRoots{part_roots(hashes, q.part)};
}

Expected<Body> Player::leaf(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(q.of_states ? prepare_states(q) : prepare_value(q));
  if (q.part.begin >= (q.of_states ? state_hashes_ : tile_hashes_).size()) {
    return unavailable("the question is of a leaf that there is not");
  }
  if (q.of_states) return LeafShowing{state_leaf(q.part.begin, states_[q.part.begin])};
  const TensorIdentity identity = TensorIdentity::of(witness_.schema()[q.entry]);
  return LeafShowing{
      commit::tile_bytes(identity.header(), value_, identity.layout(), static_cast<int64_t>(q.part.begin))};
}

const Tensor& Player::tensor(bool of_statistic, uint32_t index) const {
  const ResolvedNode& node = element_->node();
  if (of_statistic) return of_trace_.at(node.statistics[index]);
  const Operand& operand = node.operands[index];
  return operand.from == Operand::From::kTrace ? of_trace_.at(operand.entry) : given_.at(index);
}

judge::Bits Player::value_of(const graph::ElementSource& s) const {
  return judge::bits_of(tensor(s.of_statistic, static_cast<uint32_t>(s.input)), s.element);
}

// The node with its operands' and statistics' tensors, and the element as a referee will see it.
Status Player::prepare_node(const Question& q) {
  if (element_) return {};
  ISOBIT_RETURN_IF_ERROR(prepare_roots(q));
  const std::vector<train::TraceEntry>& schema = witness_.schema();
  const auto index = static_cast<uint64_t>(schema[q.entry].node);
  showing_ = NodeShowing{witness_.node(index), {}};
  // What the witness says of its own graph is bound by the same parts as what is sent.
  ISOBIT_TRY(ResolvedNode node, resolve(showing_->node, index, parts_, schema));
  std::set<uint64_t> wanted(node.statistics.begin(), node.statistics.end());
  for (uint32_t i = 0; i < node.operands.size(); ++i) {
    const Operand& operand = node.operands[i];
    if (operand.from == Operand::From::kTrace) {
      wanted.insert(operand.entry);
    } else if (operand.from != Operand::From::kAbsent) {
      ISOBIT_TRY(given_[i], witness_.given(operand));
    }
  }
  // A statistic behind the disputed one is nobody's ground.
  std::erase_if(wanted, [&](uint64_t entry) { return entry >= q.entry; });
  ISOBIT_TRY(of_trace_, witness_.values(q.step, wanted));
  const auto operand = [&](int i) -> const Tensor* {
    const auto at = static_cast<uint32_t>(i);
    const Operand& from = node.operands[at];
    if (from.from == Operand::From::kAbsent) return nullptr;
    return from.from == Operand::From::kTrace ? &of_trace_.at(from.entry) : &given_.at(at);
  };
  ISOBIT_TRY(const auto tiles, Element::guide_tiles(node, schema[q.entry], q.element, operand));
  for (const auto& [i, wanted_tiles] : tiles) {
    showing_->guides.push_back({false, i,
                                ShownTiles::of(node.operands[i].identity, *operand(static_cast<int>(i)),
                                               {wanted_tiles.begin(), wanted_tiles.end()}, pool_)});
  }
  ISOBIT_TRY(element_,
             Element::open(subject_, std::move(node), schema, digests_, q.entry, q.element, showing_->guides));
  return {};
}

Expected<Body> Player::node(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(prepare_node(q));
  return *showing_;
}

Status Player::prepare_states(const Question& q) {
  if (!states_.empty()) return {};
  ISOBIT_RETURN_IF_ERROR(prepare_node(q));
  if (element_->chunks() == 1) return unavailable("the question is of the parts of a sum that has one alone");
  const Element::ValueOf value = [this](const graph::ElementSource& s) { return value_of(s); };
  ISOBIT_TRY(states_, element_->states(value));
  if (forge_states_) forge_states_(states_);
  for (uint64_t chunk = 0; chunk < states_.size(); ++chunk) {
    state_hashes_.push_back(commit::leaf_hash(state_leaf(chunk, states_[chunk])));
  }
  return {};
}

Expected<Body> Player::states(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(prepare_states(q));
  const uint64_t last = state_hashes_.size() - 1;
  return StateTree{{state_hashes_.size(), commit::merkle_root(state_hashes_)},
                   states_.back(),
                   commit::prove_inclusion(state_hashes_, last)};
}

Expected<Body> Player::grounds(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(q.of_states ? prepare_states(q) : prepare_node(q));
  if (q.chunk < 0 || q.chunk >= element_->chunks()) return unavailable("the question is of a chunk that there is not");
  Grounds grounds;
  for (const auto& [of, tiles] : element_->tiles_needed(q.chunk)) {
    const auto& [of_statistic, index] = of;
    grounds.shown.push_back({of_statistic, index,
                             ShownTiles::of(element_->identity_of(of_statistic, index), tensor(of_statistic, index),
                                            {tiles.begin(), tiles.end()}, pool_)});
  }
  if (q.of_states && q.chunk > 0) {
    const auto before = static_cast<uint64_t>(q.chunk) - 1;
    grounds.before = states_[before];
    grounds.inclusion = commit::prove_inclusion(state_hashes_, before);
  }
  return grounds;
}

Expected<Body> Player::sample(const Question& q) {
  const int64_t position = position_in_batch(witness_.schema()[q.entry], q.element, subject_.job);
  ISOBIT_TRY(verify::ShownSample sample, witness_.sample(q.step, position));
  return SampleShowing{std::move(sample)};
}

Expected<Body> Player::log(const Question& q) {
  ISOBIT_TRY(const verify::LogTree tree, witness_.log(q.step));
  const auto node = static_cast<uint32_t>(witness_.schema()[q.entry].node);
  return LogShowing{tree.prove_entry(node, static_cast<uint64_t>(q.element))};
}

Expected<Body> Player::accusation(const Question& q) {
  ISOBIT_TRY(const auto illegal, witness_.illegal_entry(q.step));
  if (!illegal) return unavailable("every entry of the log may stand");
  ISOBIT_TRY(const verify::LogTree tree, witness_.log(q.step));
  const verify::LogAbsenceProof shown = tree.prove_entry(illegal->node, illegal->position);
  if (!shown.before) return unavailable("the entry is none of the log");
  const auto& entries = std::get<std::vector<log::SparseEntry>>(shown.before->chunk.log);
  const auto found = std::ranges::lower_bound(entries, illegal->position, {}, &log::SparseEntry::position);
  return Accusation{*shown.before, static_cast<uint32_t>(found - entries.begin())};
}

Expected<Body> Player::loss(const Question& q) {
  ISOBIT_TRY(const LossNode loss, loss_node(witness_.graph(), witness_.schema()));
  ISOBIT_TRY(const auto values, witness_.values(q.step, {loss.entry}));
  return LossShowing{
      witness_.graph().prove(loss.node), witness_.graph().head(),
      ShownTiles::of(TensorIdentity::of(witness_.schema()[loss.entry]), values.at(loss.entry), {0}, pool_)};
}

}  // namespace isobit::dispute
