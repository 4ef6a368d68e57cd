// From the challenge to one value: which step, and which value of it, in the order in which a step makes them.
#include <algorithm>
#include <bit>

#include "isobit/base/text.h"
#include "isobit/dispute/game.h"
#include "isobit/train/rates.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

using Entry = train::TraceEntry;

// A state that a leaf commits to, and after which step; none of another leaf.
struct CommittedState {
  uint64_t step = 0;
  commit::Digest root{};
};
std::optional<CommittedState> state_of(const verify::Leaf& leaf) {
  if (const auto* initial = std::get_if<verify::InitialLeaf>(&leaf)) return CommittedState{0, initial->state_root};
  if (const auto* last = std::get_if<verify::FinalLeaf>(&leaf)) return CommittedState{last->steps, last->state_root};
  const auto& step = std::get<verify::StepLeaf>(leaf);
  if (!step.state_root) return std::nullopt;
  return CommittedState{step.step, *step.state_root};
}

bool is_final(const verify::Leaf& leaf) { return std::holds_alternative<verify::FinalLeaf>(leaf); }

uint64_t index_of(const verify::Leaf& leaf, const verify::TranscriptRules& rules) {
  if (is_final(leaf)) return rules.steps + 1;
  const auto* step = std::get_if<verify::StepLeaf>(&leaf);
  return step == nullptr ? 0 : step->step;
}

Status check_leaf(const ShownLeaf& shown, const commit::SizedRoot& tree, const verify::TranscriptRules& rules) {
  if (shown.inclusion.index != index_of(shown.leaf, rules)) {
    return rejected(text_of(verify::describe(shown.leaf), " is shown at place ", shown.inclusion.index));
  }
  return commit::verify_inclusion(shown.inclusion, commit::leaf_hash(verify::encode(shown.leaf)), tree);
}

// What a slot is, and what replaces it, by their roots in a list.
std::vector<commit::StateEntry> state_in(const std::vector<Entry>& schema, const std::vector<commit::Digest>& roots,
                                         bool after) {
  std::vector<commit::StateEntry> state;
  for (size_t i = 0; i < schema.size() && schema[i].kind == Entry::Kind::kState; ++i) {
    commit::Digest root = roots[i];
    if (after) {
      const auto replaces = [&](const Entry& e) { return e.kind == Entry::Kind::kOutput && e.name == schema[i].name; };
      const auto found = std::ranges::find_if(schema, replaces);
      if (found != schema.end()) root = roots[static_cast<size_t>(found - schema.begin())];
    }
    state.push_back({schema[i].name, root});
  }
  return state;
}

bool leads_to(const std::vector<commit::StateEntry>& state, uint64_t step, const commit::Digest& root) {
  const auto found = commit::state_root(state, step);
  return found && found->digest() == root;
}

}  // namespace

Status Game::take_body(Party, Challenge body) {
  const verify::Engagement& engagement = subject_.engagement;
  if (verify::job_root(body.parts) != engagement.terms.job_root) {
    return rejected("the parts shown are not those of the engaged job root");
  }
  if (!body.parts.trace_schema) {
    return rejected("the job's steps have no schema: its network cannot be disputed value by value");
  }
  ISOBIT_RETURN_IF_ERROR(verify::verify_head(body.head, engagement));
  if (body.head.key != engagement.trainer_key) return rejected("the head is signed by another key than the trainer's");
  for (const ShownLeaf* shown : {&body.before, &body.behind}) {
    ISOBIT_RETURN_IF_ERROR(check_leaf(*shown, body.head.tree, subject_.rules));
    if (!state_of(shown->leaf)) return rejected(text_of(verify::describe(shown->leaf), " commits to no state"));
  }
  const uint64_t first = state_of(body.before.leaf)->step, last = state_of(body.behind.leaf)->step;
  const uint64_t every = subject_.rules.commit_every, steps = subject_.rules.steps;
  const bool last_leaf = is_final(body.behind.leaf);
  const uint64_t next = last_leaf && first == steps ? steps : std::min(first - first % every + every, steps);
  if (is_final(body.before.leaf) || last != next || last_leaf != (first == steps || !subject_.rules.has_state(next))) {
    return rejected(text_of("the leaves shown are ", verify::describe(body.before.leaf), " and ",
                            verify::describe(body.behind.leaf), "; expected neighbours among those with a state"));
  }
  challenge_ = std::move(body);
  return {};
}

void Game::compare_runs() {
  const CommittedState before = *state_of(challenge_.before.leaf), behind = *state_of(challenge_.behind.leaf);
  if (const auto* initial = std::get_if<verify::InitialLeaf>(&challenge_.before.leaf)) {
    if (initial->job_root != subject_.engagement.terms.job_root) {
      return conclude(true, false, Level::kRun,
                      "the trainer's transcript begins with another job than the engaged one");
    }
    if (initial->state_root != challenge_.parts.initial_state) {
      return conclude(true, false, Level::kRun, "the trainer's transcript begins with another state than the job's");
    }
  }
  if (before.step == behind.step) {
    const bool same = before.root == behind.root;
    return conclude(!same, same, Level::kRun,
                    same ? "the state that the trainer hands out is that after its last step"
                         : "the state that the trainer hands out is not that after its last step");
  }
  question_.first_step = before.step;
  question_.last_step = behind.step;
  question_.leaves = challenge_.head.tree.size;
  ask(Kind::kSteps, true, true);
}

Status Game::take_body(Party party, StepList body) {
  const uint64_t first = question_.first_step, last = question_.last_step;
  if (body.points.size() != last - first) {
    return rejected(text_of("found ", body.points.size(), " steps, expected ", last - first));
  }
  if (body.in_transcript.has_value() != (party == Party::kTrainer)) {
    return rejected("the trainer's list, and no other, is shown in its transcript");
  }
  if (party == Party::kTrainer) {
    std::vector<commit::Digest> hashes;
    for (uint64_t t = first + 1; t <= last; ++t) {
      const StepPoint& p = body.points[t - first - 1];
      verify::StepLeaf leaf{t, p.batch, p.loss, p.log_segment, std::nullopt};
      if (subject_.rules.has_state(t)) leaf.state_root = p.state_root;
      hashes.push_back(commit::leaf_hash(verify::encode(leaf)));
      if (body.in_transcript->indices.size() != last - first || body.in_transcript->indices[t - first - 1] != t) {
        return rejected("the proof is of other steps");
      }
    }
    ISOBIT_RETURN_IF_ERROR(commit::verify_several(*body.in_transcript, hashes, challenge_.head.tree));
    if (body.points.back().state_root != state_of(challenge_.behind.leaf)->root) {
      return rejected("the list does not end with the state that the trainer signed");
    }
  }
  side(party).points = std::move(body.points);
  return {};
}

// The log is the trainer's: both compute by it.
void Game::compare_steps() {
  const auto same = [](const StepPoint& a, const StepPoint& b) {
    return a.batch == b.batch && a.loss == b.loss && a.state_root == b.state_root;
  };
  const auto& points = trainer().points;
  const auto found = std::ranges::mismatch(points, challenger().points, same).in1;
  if (found == points.end()) {
    return conclude(false, true, Level::kStep, "the challenger has the same steps as the trainer");
  }
  const auto at = static_cast<uint64_t>(found - points.begin());
  question_.step = question_.first_step + 1 + at;
  if (points[at].batch != challenger().points[at].batch) return ask(Kind::kBatch, false, true);
  state_before_ = at == 0 ? state_of(challenge_.before.leaf)->root : points[at - 1].state_root;
  ask(Kind::kValues, true, true);
}

Status Game::take_body(Party party, ValueList body) {
  if (body.schema.has_value() != (party == Party::kChallenger)) {
    return rejected("the challenger's list, and no other, comes with the schema");
  }
  if (body.schema && verify::schema_root(*body.schema) != *challenge_.parts.trace_schema) {
    return rejected("the schema is not the job's");
  }
  if (body.schema) schema_ = std::move(*body.schema);
  side(party).roots = std::move(body.roots);
  return {};
}

// Why a list is none of a step from the agreed state to the state that its party claims; "" where it may be one.
std::string Game::problem_of_list(const Side& side) const {
  if (side.roots.size() != schema_.size()) {
    return text_of("its list has ", side.roots.size(), " values, expected ", schema_.size());
  }
  const uint64_t t = question_.step;
  if (!leads_to(state_in(schema_, side.roots, false), t - 1, state_before_)) {
    return text_of("the values of its step do not begin with the state after step ", t - 1, ", on which both agree");
  }
  if (!leads_to(state_in(schema_, side.roots, true), t, side.points[t - question_.first_step - 1].state_root)) {
    return text_of("the values of its step do not end with the state that it claims after step ", t);
  }
  return "";
}

void Game::compare_values() {
  const std::string of_trainer = problem_of_list(trainer()), of_challenger = problem_of_list(challenger());
  if (!of_trainer.empty() || !of_challenger.empty()) {
    return conclude(!of_trainer.empty(), !of_challenger.empty(), Level::kTrace,
                    !of_trainer.empty() ? "the trainer: " + of_trainer : "the challenger: " + of_challenger);
  }
  const auto found = std::ranges::mismatch(trainer().roots, challenger().roots).in1;
  if (found == trainer().roots.end()) {
    // The steps differ, their batches, states and values do not.
    return ask(Kind::kLoss, false, true);
  }
  question_.entry = static_cast<uint64_t>(found - trainer().roots.begin());
  has_entry_ = true;
  if (entry().kind == Entry::Kind::kRate) return settle_rate();
  ask(Kind::kTiles, true, true);
}

void Game::settle_rate() {
  uint64_t before = 0;
  for (uint64_t i = 0; i < question_.entry; ++i) {
    before += schema_[i].kind == Entry::Kind::kRate && schema_[i].dtype == DType::kFloat64 ? 1 : 0;
  }
  const Tensor right = train::rate_of(subject_.job, question_.step, entry().dtype, before);
  ThreadPool alone(1);
  const commit::Digest root = commit::tensor_root(entry().name, right, verify::layout_of(entry()), alone).digest();
  const uint64_t i = question_.entry;
  conclude(trainer().roots[i] != root, challenger().roots[i] != root, Level::kValue,
           text_of("'", entry().name, "' is another one by the job's schedule"));
}

Status Game::take_body(Party, LossShowing body) {
  ISOBIT_RETURN_IF_ERROR(verify::verify_graph_node(body.producer, challenge_.parts.step_graph));
  if (verify::digest_of(body.head) != body.producer.head || body.head.outputs.empty()) {
    return rejected("the head shown is not that of the step's graph");
  }
  const auto& outputs = body.producer.node.outputs;
  const auto output = std::ranges::find(outputs, body.head.outputs[0], &verify::GraphValue::id);
  if (output == outputs.end()) return rejected("the node shown does not make the loss");
  const auto node = static_cast<int64_t>(body.producer.node.index), place = output - outputs.begin();
  const auto entry = std::ranges::find_if(
      schema_, [&](const Entry& e) { return e.kind == Entry::Kind::kOutput && e.node == node && e.place == place; });
  if (entry == schema_.end() || verify::shape_of(*entry).elements() != 1)
    return rejected("the loss is no number of the schema");
  question_.entry = static_cast<uint64_t>(entry - schema_.begin());
  op_ = body.producer.node.op;
  ISOBIT_TRY(const ShownTensor shown,
             ShownTensor::open(TensorIdentity::of(*entry), trainer().roots[question_.entry], std::move(body.loss)));
  ISOBIT_TRY(const judge::Bits bits, shown.bits(0));
  loss_ = verify::LossBits::of(entry->dtype == DType::kFloat64 ? static_cast<float>(std::bit_cast<double>(bits))
                                                               : std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return {};
}

void Game::settle_loss() {
  has_entry_ = true;
  const uint64_t at = question_.step - question_.first_step - 1;
  const bool a = trainer().points[at].loss != loss_, b = challenger().points[at].loss != loss_;
  conclude(a, b, Level::kValue,
           text_of("the ", a ? "trainer" : "challenger", " claims another loss than the one among the step's values"));
}

}  // namespace isobit::dispute
