#include "isobit/dispute/spot_trainer.h"

#include "isobit/base/text.h"
#include "isobit/dispute/claims.h"
#include "isobit/dispute/player.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {

// One that was drawn, as the auditor will see it. No element: of the batch.
struct SpotTrainer::Place {
  SpotPlace of;
  NodeShowing showing;
  std::unique_ptr<Element> element;
  std::vector<judge::State> states;  // of a sum of several chunks
  std::vector<commit::Digest> state_hashes;
};

SpotTrainer::SpotTrainer(const Subject& subject, const verify::JobRootParts& parts, Witness& witness,
                         std::optional<SignedRun> run, commit::SecretKey key, ThreadPool& pool)
    : subject_(subject),
      parts_(parts),
      witness_(witness),
      run_(run),
      key_(std::move(key)),
      pool_(pool),
      history_(first_spot_history(subject.engagement.terms)) {}

SpotTrainer::~SpotTrainer() = default;

Expected<Bytes> SpotTrainer::answer(ByteView question) {
  ISOBIT_TRY(const SpotQuestion q, decode_spot_question(question, "question"));
  ISOBIT_RETURN_IF_ERROR(check(q));
  ISOBIT_RETURN_IF_ERROR(check_turn(q));
  auto answered = [&]() -> Expected<SpotAnswer> {
    switch (q.stage) {
      case SpotStage::kSteps:
        return steps(q);
      case SpotStage::kValues:
        return values(q);
      case SpotStage::kElement:
        return element(q);
      case SpotStage::kInference:
        return inference(q);
      case SpotStage::kChunk:
        break;
    }
    return chunk(q);
  }();
  if (!answered) return tl::unexpected<Error>(std::move(answered).error());
  const Bytes body = encode(*answered);
  last_ = q;
  last_->places.clear();  // in places_
  history_ = spot_history_after(question, body);
  return encode(sign_message(q.turn, spot_history_of(question), body, subject_.engagement.terms, key_));
}

Status SpotTrainer::check_turn(const SpotQuestion& q) const {
  const auto refused = [](const char* why) { return usage_error(text_of("question: ", why)); };
  if (q.turn != (last_ ? last_->turn + 1 : 0) || q.history != history_) return refused("is none of this check's next");
  using enum SpotStage;
  if (!last_) return q.stage == kSteps || q.stage == kInference ? Status() : refused("is not how a check begins");
  if (last_->stage == kSteps) return q.stage == kValues ? Status() : refused("the values of a step come next");
  const bool begins = last_->stage == kValues || last_->stage == kInference;
  const bool same_place = q.stage == kChunk && last_->stage == kElement && q.at == last_->at;
  const bool next_place = q.stage == kElement && q.at == (begins ? 0 : last_->at + 1);
  if (!same_place && !next_place) return refused("is not about the next of the elements that were drawn");
  return begins || q.at < places_.size() ? Status() : refused("is about more elements than were drawn");
}

Status SpotTrainer::check(const SpotQuestion& q) const {
  const bool of_run = q.stage == SpotStage::kSteps || q.stage == SpotStage::kValues;
  if (subject_.receipt ? of_run : q.stage == SpotStage::kInference) {
    return usage_error("question: is none about what is checked, a run or an inference");
  }
  if (q.step < 1 || q.step > subject_.rules.steps) return usage_error(text_of("question: there is no step ", q.step));
  const std::vector<train::TraceEntry>& schema = witness_.schema();
  for (const SpotPlace& p : q.places) {
    using Of = train::TraceEntry::Kind;
    const bool known = p.entry < schema.size() && schema[p.entry].kind != Of::kState &&
                       schema[p.entry].kind != Of::kRate && p.element >= 0 &&
                       p.element < verify::shape_of(schema[p.entry]).elements();
    if (!known) return usage_error(text_of("question: there is no element ", p.element, " of value ", p.entry));
  }
  return {};
}

Expected<SpotAnswer> SpotTrainer::steps(const SpotQuestion& q) {
  if (!run_->transcript.committed_state(q.step))
    return usage_error(text_of("question: no interval ends at step ", q.step));
  SpotSteps answer;
  ISOBIT_TRY(answer.leaves, make_challenge(parts_, run_->transcript, run_->head, q.step));
  const uint64_t first = state_of(answer.leaves.before.leaf)->step;
  ISOBIT_TRY(answer.steps.points, witness_.points(first, q.step));
  answer.steps.in_transcript = prove_steps(run_->transcript, run_->head.tree.size, first, q.step);
  return answer;
}

Expected<SpotAnswer> SpotTrainer::values(const SpotQuestion& q) {
  const std::vector<train::TraceEntry>& schema = witness_.schema();
  ISOBIT_TRY(const LossNode of_loss, loss_node(witness_.graph(), schema));
  ShownTiles loss;
  ISOBIT_TRY(auto roots, all_roots(q.step, [&](uint64_t entry, const Tensor& value) {
               if (entry != of_loss.entry) return;
               loss = ShownTiles::of(TensorIdentity::of(schema[entry]), value, {0}, pool_);
             }));
  SpotValues answer{{subject_.engagement.terms.job_root, q.step, roots},
                    schema,
                    {witness_.graph().prove(of_loss.node), witness_.graph().head(), std::move(loss)},
                    {}};
  answer.list.sign(subject_.engagement.terms.run_id, key_);
  ISOBIT_TRY(answer.batch.leaves, witness_.batch(q.step));
  stand_by(q.step, std::move(roots));
  return answer;
}

Expected<SpotAnswer> SpotTrainer::inference(const SpotQuestion& q) {
  ISOBIT_TRY(auto roots, all_roots(q.step, [](uint64_t, const Tensor&) {}));
  SpotInference answer{{subject_.engagement.terms.job_root, q.step, roots}, witness_.schema()};
  answer.list.sign(subject_.engagement.terms.run_id, key_);
  stand_by(q.step, std::move(roots));
  return answer;
}

Expected<std::vector<commit::Digest>> SpotTrainer::all_roots(uint64_t step, const Witness::See& see) {
  const std::vector<train::TraceEntry>& schema = witness_.schema();
  std::set<uint64_t> all;
  for (uint64_t i = 0; i < schema.size(); ++i) all.insert(all.end(), i);
  std::vector<commit::Digest> roots(schema.size());
  ISOBIT_RETURN_IF_ERROR(witness_.visit(step, all, [&](uint64_t entry, const Tensor& value) {
    const train::TraceEntry& e = schema[entry];
    roots[entry] = commit::tensor_root(e.name, value, verify::layout_of(e), pool_).digest();
    see(entry, value);
  }));
  return roots;
}

void SpotTrainer::stand_by(uint64_t step, std::vector<commit::Digest> roots) {
  step_ = step;
  roots_ = std::move(roots);
  is_prepared_ = false;
}

// --- What was drawn ---

Status SpotTrainer::prepare(const SpotQuestion& q) {
  if (step_ != q.step) return usage_error("question: the values of this step were not asked for");
  if (is_prepared_) return {};
  places_.clear();
  guides_.clear();
  of_trace_.clear();
  of_given_.clear();
  ISOBIT_TRY(std::vector<ResolvedNode> nodes, find_guides(q));
  ISOBIT_RETURN_IF_ERROR(open_elements(q, std::move(nodes)));
  ISOBIT_RETURN_IF_ERROR(collect(q));
  for (Place& place : places_) ISOBIT_RETURN_IF_ERROR(add_up(place));
  is_prepared_ = true;
  return {};
}

// The nodes of all that was drawn, and the tiles that say where elements are from. Which these are may follow from such
// tiles itself: what is missing is computed for all at once, until nothing is.
Expected<std::vector<ResolvedNode>> SpotTrainer::find_guides(const SpotQuestion& q) {
  const std::vector<train::TraceEntry>& schema = witness_.schema();
  std::vector<ResolvedNode> nodes;
  for (const SpotPlace& p : q.places) {
    Place place{p, {}, nullptr, {}, {}};
    nodes.emplace_back();
    if (schema[p.entry].node >= 0) {
      const auto index = static_cast<uint64_t>(schema[p.entry].node);
      place.showing.node = witness_.node(index);
      ISOBIT_TRY(nodes.back(), resolve(place.showing.node, index, GraphParts::of(parts_), schema));
    }
    places_.push_back(std::move(place));
  }
  std::vector<bool> found(places_.size(), false);
  for (;;) {
    std::set<uint64_t> missing;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (found[i] || !nodes[i].graph) continue;
      ISOBIT_TRY(found[i], find_guides_of(places_[i], nodes[i], missing));
    }
    if (missing.empty()) return nodes;
    ISOBIT_RETURN_IF_ERROR(
        witness_.visit(q.step, missing, [&](uint64_t entry, const Tensor& value) { guides_[entry] = value.clone(); }));
  }
}

// False: it takes values that are now in `missing` to say which tiles these are.
Expected<bool> SpotTrainer::find_guides_of(Place& place, const ResolvedNode& node, std::set<uint64_t>& missing) {
  std::set<uint64_t> waits_for;
  const auto operand = [&](int input) { return operand_at_hand(node.operands[static_cast<size_t>(input)], waits_for); };
  const auto tiles = Element::guide_tiles(node, witness_.schema()[place.of.entry], place.of.element, operand);
  for (const auto& [input, wanted] : tiles ? *tiles : std::map<uint32_t, std::set<uint64_t>>()) {
    operand(static_cast<int>(input));
  }
  missing.insert(waits_for.begin(), waits_for.end());
  if (!waits_for.empty()) return false;
  if (!tiles) return tl::unexpected<Error>(tiles.error());
  for (const auto& [input, wanted] : *tiles) {
    place.showing.guides.push_back({false, input,
                                    ShownTiles::of(node.operands[input].identity, *operand(static_cast<int>(input)),
                                                   {wanted.begin(), wanted.end()}, pool_)});
  }
  return true;
}

// Null: there is no such operand, or it is a value of the step that is now in `missing`.
const Tensor* SpotTrainer::operand_at_hand(const Operand& operand, std::set<uint64_t>& missing) {
  if (operand.from == Operand::From::kAbsent) return nullptr;
  if (operand.from == Operand::From::kTrace) {
    const auto guide = guides_.find(operand.entry);
    if (guide != guides_.end()) return &guide->second;
    missing.insert(operand.entry);
    return nullptr;
  }
  auto given = given_.find(operand.identity.name);
  if (given == given_.end()) {
    auto tensor = witness_.given(operand);
    if (!tensor) return nullptr;
    given = given_.emplace(operand.identity.name, std::move(*tensor)).first;
  }
  return &given->second;
}

Status SpotTrainer::open_elements(const SpotQuestion& q, std::vector<ResolvedNode> nodes) {
  const std::vector<train::TraceEntry>& schema = witness_.schema();
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    const SpotPlace& of = q.places[i];
    const commit::TileGrid grid = TensorIdentity::of(schema[of.entry]).grid();
    of_trace_[of.entry].want(static_cast<uint64_t>(grid.place_of(of.element).tile));
    if (!nodes[i].graph) continue;
    ISOBIT_TRY(place.element, Element::open(subject_, std::move(nodes[i]), schema, roots_, of.entry, of.element,
                                            place.showing.guides));
    const ResolvedNode& node = place.element->node();
    for (int64_t chunk = 0; chunk < place.element->chunks(); ++chunk) {
      for (const auto& [part, tiles] : place.element->tiles_needed(chunk)) {
        const auto& [of_statistic, index] = part;
        const bool of_trace = of_statistic || node.operands[index].from == Operand::From::kTrace;
        KeptTiles& kept = of_trace ? of_trace_[of_statistic ? node.statistics[index] : node.operands[index].entry]
                                   : of_given_[node.operands[index].identity.name];
        for (const uint64_t tile : tiles) kept.want(tile);
      }
    }
  }
  guides_.clear();
  return {};
}

Status SpotTrainer::collect(const SpotQuestion& q) {
  const std::vector<train::TraceEntry>& schema = witness_.schema();
  std::set<uint64_t> wanted;
  for (const auto& [entry, kept] : of_trace_) wanted.insert(entry);
  ISOBIT_RETURN_IF_ERROR(witness_.visit(q.step, wanted, [&](uint64_t entry, const Tensor& value) {
    of_trace_.at(entry).take(TensorIdentity::of(schema[entry]), value, pool_);
  }));
  std::set<std::string> taken;
  for (const Place& place : places_) {
    if (!place.element) continue;
    for (const Operand& operand : place.element->node().operands) {
      const auto kept = of_given_.find(operand.identity.name);
      const bool is_given = operand.from == Operand::From::kConstant || operand.from == Operand::From::kFrozen;
      if (!is_given || kept == of_given_.end() || !taken.insert(operand.identity.name).second) continue;
      ISOBIT_TRY(const Tensor tensor, witness_.given(operand));
      kept->second.take(operand.identity, tensor, pool_);
    }
  }
  return {};
}

const KeptTiles& SpotTrainer::kept(const Place& place, bool of_statistic, uint32_t index) const {
  const ResolvedNode& node = place.element->node();
  if (of_statistic) return of_trace_.at(node.statistics[index]);
  const Operand& operand = node.operands[index];
  return operand.from == Operand::From::kTrace ? of_trace_.at(operand.entry) : of_given_.at(operand.identity.name);
}

Status SpotTrainer::add_up(Place& place) {
  if (!place.element || place.element->chunks() == 1) return {};
  const Element& element = *place.element;
  const Element::ValueOf value_of = [&](const graph::ElementSource& s) -> judge::Bits {
    const auto index = static_cast<uint32_t>(s.input);
    if (!s.of_statistic) {
      if (const auto known = element.known(index, s.element)) return *known;
    }
    return kept(place, s.of_statistic, index).bits(s.element);
  };
  ISOBIT_TRY(place.states, element.states(value_of));
  if (forge_states_) forge_states_(place.states);
  for (uint64_t chunk = 0; chunk < place.states.size(); ++chunk) {
    place.state_hashes.push_back(commit::leaf_hash(state_leaf(chunk, place.states[chunk])));
  }
  return {};
}

// --- What is shown of it ---

std::vector<ShownPart> SpotTrainer::shown(const Place& place, int64_t chunk) const {
  std::vector<ShownPart> parts;
  for (const auto& [part, tiles] : place.element->tiles_needed(chunk)) {
    parts.push_back({part.first, part.second, kept(place, part.first, part.second).show(tiles)});
  }
  return parts;
}

Expected<SpotAnswer> SpotTrainer::element(const SpotQuestion& q) {
  ISOBIT_RETURN_IF_ERROR(prepare(q));
  const Place& place = places_[q.at];
  const train::TraceEntry& e = witness_.schema()[place.of.entry];
  const auto tile = static_cast<uint64_t>(TensorIdentity::of(e).grid().place_of(place.of.element).tile);
  SpotElement answer{of_trace_.at(place.of.entry).show({tile}), std::nullopt, std::nullopt, std::nullopt, std::nullopt};
  if (!place.element) {
    ISOBIT_TRY(verify::ShownSample sample,
               witness_.sample(q.step, position_in_batch(e, place.of.element, subject_.job)));
    answer.sample = SampleShowing{std::move(sample)};
    return answer;
  }
  answer.node = place.showing;
  if (place.states.empty()) {
    answer.grounds = Grounds{shown(place, 0), std::nullopt, {}};
    return answer;
  }
  const std::vector<commit::Digest>& hashes = place.state_hashes;
  answer.states = StateTree{{hashes.size(), commit::merkle_root(hashes)},
                            place.states.back(),
                            commit::prove_inclusion(hashes, hashes.size() - 1)};
  return answer;
}

Expected<SpotAnswer> SpotTrainer::chunk(const SpotQuestion& q) {
  ISOBIT_RETURN_IF_ERROR(prepare(q));
  const Place& place = places_[q.at];
  if (q.chunk >= place.states.size()) return usage_error(text_of("question: the element has no chunk ", q.chunk));
  SpotChunk answer{{shown(place, static_cast<int64_t>(q.chunk)), std::nullopt, {}},
                   state_leaf(q.chunk, place.states[q.chunk]),
                   commit::prove_inclusion(place.state_hashes, q.chunk)};
  if (q.chunk > 0) {
    answer.grounds.before = place.states[q.chunk - 1];
    answer.grounds.inclusion = commit::prove_inclusion(place.state_hashes, q.chunk - 1);
  }
  return answer;
}

}  // namespace isobit::dispute
