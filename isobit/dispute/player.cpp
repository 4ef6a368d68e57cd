#include "isobit/dispute/player.h"

#include <algorithm>
#include <array>
#include <set>

#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"
#include "isobit/tensor/convert.h"

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

Expected<Challenge> make_challenge(const verify::JobRootParts& parts, const verify::Transcript& transcript,
                                   const verify::SignedHead& head, EvaluationClaim claim) {
  const verify::TranscriptRules& rules = transcript.rules();
  ISOBIT_TRY(Challenge challenge, make_challenge(parts, transcript, head, rules.steps, rules.has_state(rules.steps)));
  challenge.evaluation = std::move(claim);
  return challenge;
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
  if (q.kind == Kind::kSums) return {};
  const bool of_a_step =
      q.kind == Kind::kLoss || q.kind == Kind::kBatch || q.kind == Kind::kLog || q.kind == Kind::kEntry;
  const bool of_scores = q.kind == Kind::kGraph || q.kind == Kind::kScore;
  if (q.of_evaluation ? of_a_step : of_scores) return none("what there is not");
  if (of_scores) return {};
  if (!q.of_evaluation && (q.step < 1 || q.step > steps)) return none("a step that there is not");
  if (q.kind == Kind::kValues || q.kind == Kind::kLoss || q.kind == Kind::kBatch) return {};
  if ((q.kind == Kind::kLog || q.kind == Kind::kEntry) && !subject_.rules.logged)
    return none("a log that there is not");
  if (q.kind == Kind::kEntry) return {};
  if (q.entry >= at_->schema().size()) return none("a value that there is not");
  const train::TraceEntry& e = at_->schema()[q.entry];
  const bool of_batch = e.kind == train::TraceEntry::Kind::kBatch;
  if (q.kind == Kind::kTiles || (!q.of_states && (q.kind == Kind::kParts || q.kind == Kind::kLeaf))) return {};
  if (q.element < 0 || q.element >= Shape(e.dims).elements()) return none("an element that there is not");
  const bool fits = q.kind == Kind::kSample ? of_batch : e.node >= 0;
  return fits ? Status() : none("a value that is not made so");
}

// What is prepared is of one step or sample, value and element: a game goes to no other.
template <class T>
Status Player::stay(std::optional<T>& known, T asked) {
  if (known.value_or(asked) != asked) return unavailable("the question is of something else than the dispute came to");
  known = asked;
  return {};
}

// Where the values of the question are.
Status Player::go_to(const Question& q) {
  at_ = &witness_;
  if (!q.of_evaluation) return {};
  if (subject_.receipt) return unavailable("the question is of what an inference has not");
  ISOBIT_RETURN_IF_ERROR(stay(sample_, q.sample));
  // Anew for every question: another game of this witness may have asked for another sample.
  ISOBIT_TRY(at_, witness_.scored(q.sample));
  if (scoring_) return {};
  ISOBIT_TRY(const auto graphs, witness_.scored_graphs());
  ISOBIT_TRY(const GraphShowing shown, at_->shown_graph());
  // What the witness says of its own graph is bound by the same parts as what is sent.
  ISOBIT_TRY(const commit::StateRoot state, commit::state_root(shown.state, subject_.rules.steps));
  ISOBIT_TRY(Scoring scoring, scoring_of(shown, subject_, parts_, graphs, state.digest(), q.sample));
  if (scoring.schema != at_->schema()) return unavailable("the sample's values are others than its graph has");
  graph_parts_ = scoring.parts;
  scoring_.emplace(std::move(scoring));
  scoring_subject_.emplace(scoring_subject(subject_));
  return {};
}

Expected<Body> Player::answer(const Question& q) {
  if (q.kind != Kind::kChallenge && q.kind != Kind::kOutputs) {
    ISOBIT_RETURN_IF_ERROR(go_to(q));
    ISOBIT_RETURN_IF_ERROR(check(q));
  }
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
      return at_->batch(q.step).map([](verify::ShownLeaves leaves) { return Body(BatchShowing{std::move(leaves)}); });
    case Kind::kSample:
      return sample(q);
    case Kind::kLog:
      return log(q);
    case Kind::kEntry:
      return accusation(q);
    case Kind::kSums:
      return sums(q);
    case Kind::kGraph:
      return at_->shown_graph().map([](GraphShowing shown) { return Body(std::move(shown)); });
    case Kind::kScore:
      return score(q);
  }
  return usage_error("a challenge is made, and not asked for");
}

Expected<Body> Player::steps(const Question& q) {
  StepList list;
  ISOBIT_TRY(list.points, at_->points(q.first_step, q.last_step));
  if (party_ == Party::kTrainer) {
    if (q.leaves > transcript_->size() || q.leaves <= q.last_step) {
      return unavailable("the question is of another transcript");
    }
    list.in_transcript = prove_steps(*transcript_, q.leaves, q.first_step, q.last_step);
  }
  return list;
}

Status Player::prepare_roots(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(stay(step_, q.step));
  if (!roots_.empty()) return {};
  ISOBIT_TRY(roots_, at_->roots(q.step));
  for (const commit::TensorRoot& root : roots_) digests_.push_back(root.digest());
  return {};
}

Expected<Body> Player::values(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(prepare_roots(q));
  ValueList list{digests_, std::nullopt};
  if (party_ == Party::kChallenger && !scoring_) list.schema = at_->schema();
  return list;
}

Status Player::prepare_value(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(stay(entry_, q.entry));
  if (!tile_hashes_.empty()) return {};
  ISOBIT_TRY(auto values, at_->values(q.step, {q.entry}));
  value_ = std::move(values.at(q.entry));
  const TensorIdentity identity = TensorIdentity::of(at_->schema()[q.entry]);
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
  const TensorIdentity identity = TensorIdentity::of(at_->schema()[q.entry]);
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
  const auto index = static_cast<uint32_t>(s.input);
  const judge::Bits bits = judge::bits_of(tensor(s.of_statistic, index), s.element);
  return s.of_statistic ? bits : element_->node().operands[index].read(bits);
}

// The node with its operands' and statistics' tensors, and the element as a referee will see it.
Status Player::prepare_node(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(stay(entry_, q.entry));
  ISOBIT_RETURN_IF_ERROR(stay(element_asked_, q.element));
  if (element_) return {};
  ISOBIT_RETURN_IF_ERROR(prepare_roots(q));
  const std::vector<train::TraceEntry>& schema = at_->schema();
  const auto index = static_cast<uint64_t>(schema[q.entry].node);
  showing_ = NodeShowing{at_->node(index), {}};
  // What the witness says of its own graph is bound by the same parts as what is sent.
  ISOBIT_TRY(ResolvedNode node, resolve(showing_->node, index, graph_parts_, schema));
  std::set<uint64_t> wanted(node.statistics.begin(), node.statistics.end());
  std::map<uint32_t, Tensor> narrow;
  for (uint32_t i = 0; i < node.operands.size(); ++i) {
    const Operand& operand = node.operands[i];
    if (operand.from == Operand::From::kTrace) {
      wanted.insert(operand.entry);
    } else if (operand.from != Operand::From::kAbsent) {
      ISOBIT_TRY(given_[i], at_->given(operand));
      if (operand.narrows) narrow[i] = converted(given_[i], DType::kFloat32);
    }
  }
  // A statistic behind the disputed one is nobody's ground.
  std::erase_if(wanted, [&](uint64_t entry) { return entry >= q.entry; });
  ISOBIT_TRY(of_trace_, at_->values(q.step, wanted));
  const auto operand = [&](int i) -> const Tensor* {
    const auto at = static_cast<uint32_t>(i);
    const Operand& from = node.operands[at];
    if (from.from == Operand::From::kAbsent) return nullptr;
    if (from.from == Operand::From::kTrace) return &of_trace_.at(from.entry);
    return from.narrows ? &narrow.at(at) : &given_.at(at);
  };
  ISOBIT_TRY(const auto tiles, Element::guide_tiles(node, schema[q.entry], q.element, operand));
  for (const auto& [i, wanted_tiles] : tiles) {
    showing_->guides.push_back({false, i,
                                ShownTiles::of(node.operands[i].identity,
                                               node.operands[i].narrows ? given_.at(i) : *operand(static_cast<int>(i)),
                                               {wanted_tiles.begin(), wanted_tiles.end()}, pool_)});
  }
  ISOBIT_TRY(element_, Element::open(scoring_subject_ ? *scoring_subject_ : subject_, std::move(node), schema, digests_,
                                     q.entry, q.element, showing_->guides));
  return {};
}

Expected<Body> Player::node(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(prepare_node(q));
  return *showing_;
}

Status Player::prepare_states(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(prepare_node(q));
  if (!states_.empty()) return {};
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
  const train::TraceEntry& entry = at_->schema()[q.entry];
  const int64_t position =
      scoring_ ? position_in_range(entry, q.element, *scoring_) : position_in_batch(entry, q.element, subject_.job);
  ISOBIT_TRY(verify::ShownSample sample, at_->sample(q.step, position));
  return SampleShowing{std::move(sample)};
}

Expected<Body> Player::log(const Question& q) {
  ISOBIT_TRY(const verify::LogTree tree, at_->log(q.step));
  const auto node = static_cast<uint32_t>(at_->schema()[q.entry].node);
  return LogShowing{tree.prove_entry(node, static_cast<uint64_t>(q.element))};
}

Expected<Body> Player::accusation(const Question& q) {
  ISOBIT_TRY(const auto illegal, at_->illegal_entry(q.step));
  if (!illegal) return unavailable("every entry of the log may stand");
  ISOBIT_TRY(const verify::LogTree tree, at_->log(q.step));
  const verify::LogAbsenceProof shown = tree.prove_entry(illegal->node, illegal->position);
  if (!shown.before) return unavailable("the entry is none of the log");
  const auto& entries = std::get<std::vector<log::SparseEntry>>(shown.before->chunk.log);
  const auto found = std::ranges::lower_bound(entries, illegal->position, {}, &log::SparseEntry::position);
  return Accusation{*shown.before, static_cast<uint32_t>(found - entries.begin())};
}

Expected<Body> Player::loss(const Question& q) {
  ISOBIT_TRY(const LossNode loss, loss_node(at_->graph(), at_->schema()));
  ISOBIT_TRY(const auto values, at_->values(q.step, {loss.entry}));
  return LossShowing{at_->graph().prove(loss.node), at_->graph().head(),
                     ShownTiles::of(TensorIdentity::of(at_->schema()[loss.entry]), values.at(loss.entry), {0}, pool_)};
}

Expected<Body> Player::sums(const Question& q) {
  const verify::EvaluationTree* tree = nullptr;
  if (q.of_items) {
    ISOBIT_RETURN_IF_ERROR(prepare_items(q));
    tree = &*items_;
  } else {
    ISOBIT_TRY(tree, witness_.evaluation());
  }
  if (q.part.size < 1 || q.part.begin >= tree->samples() || q.part.size > tree->samples() - q.part.begin) {
    return unavailable("the question is of samples that there are not");
  }
  return SumsShowing::of(*tree, q.part);
}

Status Player::prepare_items(const Question& q) {
  ISOBIT_RETURN_IF_ERROR(stay(metric_, q.metric));
  if (items_) return {};
  if (!scoring_ || q.metric >= train::metric_names(subject_.job.loss).size()) {
    return unavailable("the question is of a metric that there is not");
  }
  ISOBIT_TRY(auto items, at_->items(q.metric));
  items_.emplace(train::SampleScores{{train::metric_names(subject_.job.loss)[q.metric]}, std::move(items)});
  return {};
}

// The element that is asked for is the item: the one value that is added.
Expected<Body> Player::score(const Question& q) {
  const train::Job& job = subject_.job;
  if (!scoring_ || q.metric >= train::metric_names(job.loss).size() || q.element < 0 ||
      q.element >= scoring_->items(job, q.metric)) {
    return unavailable("the question is of a score that there is not");
  }
  const train::ItemParts parts = scoring_->parts_of(job, q.metric, q.element);
  const std::array<train::ItemParts::Range, 3> ranges = {parts.losses, parts.output, parts.target};
  std::set<uint64_t> wanted;
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].count > 0) wanted.insert(*scoring_->entry(i));
  }
  ISOBIT_TRY(const auto values, at_->values(q.step, wanted));
  ScoreShowing shown;
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].count == 0) continue;
    const uint64_t entry = *scoring_->entry(i);
    const TensorIdentity identity = TensorIdentity::of(at_->schema()[entry]);
    const commit::TileGrid grid = identity.grid();
    std::set<uint64_t> tiles;
    for (int64_t e = 0; e < ranges[i].count; ++e) {
      tiles.insert(static_cast<uint64_t>(grid.place_of(ranges[i].first + e).tile));
    }
    shown.shown.push_back({false, i, ShownTiles::of(identity, values.at(entry), {tiles.begin(), tiles.end()}, pool_)});
  }
  return shown;
}

}  // namespace isobit::dispute
