#include "isobit/dispute/claims.h"

#include <algorithm>
#include <bit>

#include "isobit/base/text.h"
#include "isobit/train/rates.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

using Entry = train::TraceEntry;

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

std::optional<CommittedState> state_of(const verify::Leaf& leaf) {
  if (const auto* initial = std::get_if<verify::InitialLeaf>(&leaf)) return CommittedState{0, initial->state_root};
  if (const auto* last = std::get_if<verify::FinalLeaf>(&leaf)) return CommittedState{last->steps, last->state_root};
  const auto& step = std::get<verify::StepLeaf>(leaf);
  if (!step.state_root) return std::nullopt;
  return CommittedState{step.step, *step.state_root};
}

Status check_challenge(const Challenge& challenge, const Subject& subject) {
  const verify::Engagement& engagement = subject.engagement;
  if (verify::job_root(challenge.parts) != engagement.terms.job_root) {
    return rejected("the parts shown are not those of the engaged job root");
  }
  // Rates, batches and losses are held against the job of the digest: it must be the one that the root is of.
  if (challenge.parts.job != engagement.terms.job_digest) {
    return rejected("the engaged job root is of another job than the engaged digest");
  }
  if (!challenge.parts.trace_schema) {
    return rejected("the job's steps have no schema: its network cannot be disputed value by value");
  }
  ISOBIT_RETURN_IF_ERROR(verify::verify_head(challenge.head, engagement));
  if (challenge.head.key != engagement.trainer_key)
    return rejected("the head is signed by another key than the trainer's");
  for (const ShownLeaf* shown : {&challenge.before, &challenge.behind}) {
    ISOBIT_RETURN_IF_ERROR(check_leaf(*shown, challenge.head.tree, subject.rules));
    if (!state_of(shown->leaf)) return rejected(text_of(verify::describe(shown->leaf), " commits to no state"));
  }
  const verify::Leaf &before = challenge.before.leaf, &behind = challenge.behind.leaf;
  const uint64_t first = state_of(before)->step, last = state_of(behind)->step;
  const uint64_t every = subject.rules.commit_every, steps = subject.rules.steps;
  const bool last_leaf = is_final(behind);
  const uint64_t next = last_leaf && first == steps ? steps : std::min(first - first % every + every, steps);
  if (is_final(before) || last != next || last_leaf != (first == steps || !subject.rules.has_state(next))) {
    return rejected(text_of("the leaves shown are ", verify::describe(before), " and ", verify::describe(behind),
                            "; expected neighbours among those with a state"));
  }
  if (challenge.evaluation && !last_leaf) return rejected("an evaluation is doubted, and the last leaf is not shown");
  return {};
}

std::string problem_of_beginning(const Challenge& challenge, const Subject& subject) {
  const auto* initial = std::get_if<verify::InitialLeaf>(&challenge.before.leaf);
  if (initial == nullptr) return "";
  if (initial->job_root != subject.engagement.terms.job_root) {
    return "the trainer's transcript begins with another job than the engaged one";
  }
  if (initial->state_root != challenge.parts.initial_state) {
    return "the trainer's transcript begins with another state than the job's";
  }
  return "";
}

Status check_step_list(const StepList& list, uint64_t first, uint64_t last, const Challenge& challenge,
                       const Subject& subject) {
  if (list.points.size() != last - first) {
    return rejected(text_of("found ", list.points.size(), " steps, expected ", last - first));
  }
  if (!list.in_transcript) return rejected("the list is not shown in the transcript");
  const commit::MultiProof& proof = *list.in_transcript;
  std::vector<commit::Digest> hashes;
  for (uint64_t t = first + 1; t <= last; ++t) {
    const StepPoint& p = list.points[t - first - 1];
    verify::StepLeaf leaf{t, p.batch, p.loss, p.log_segment, std::nullopt};
    if (subject.rules.has_state(t)) leaf.state_root = p.state_root;
    hashes.push_back(commit::leaf_hash(verify::encode(leaf)));
    if (proof.indices.size() != last - first || proof.indices[t - first - 1] != t) {
      return rejected("the proof is of other steps");
    }
  }
  ISOBIT_RETURN_IF_ERROR(commit::verify_several(proof, hashes, challenge.head.tree));
  if (list.points.back().state_root != state_of(challenge.behind.leaf)->root) {
    return rejected("the list does not end with the state that the trainer signed");
  }
  return {};
}

std::string problem_of_values(const std::vector<Entry>& schema, const std::vector<commit::Digest>& roots, uint64_t step,
                              const commit::Digest& before, const commit::Digest& after) {
  if (roots.size() != schema.size()) {
    return text_of("its list has ", roots.size(), " values, expected ", schema.size());
  }
  if (!leads_to(state_in(schema, roots, false), step - 1, before)) {
    return text_of("the values of its step do not begin with the state after step ", step - 1);
  }
  if (!leads_to(state_in(schema, roots, true), step, after)) {
    return text_of("the values of its step do not end with the state that it claims after step ", step);
  }
  return "";
}

commit::Digest rate_root(const std::vector<Entry>& schema, uint64_t entry, const train::Job& job, uint64_t step) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < entry; ++i) {
    before += schema[i].kind == Entry::Kind::kRate && schema[i].dtype == DType::kFloat64 ? 1 : 0;
  }
  const Tensor right = train::rate_of(job, step, schema[entry].dtype, before);
  ThreadPool alone(1);
  return commit::tensor_root(schema[entry].name, right, verify::layout_of(schema[entry]), alone).digest();
}

Expected<LossOfValues> loss_of_values(const LossShowing& shown, const verify::JobRootParts& parts,
                                      const std::vector<Entry>& schema, const std::vector<commit::Digest>& roots) {
  ISOBIT_RETURN_IF_ERROR(verify::verify_graph_node(shown.producer, parts.step_graph));
  if (verify::digest_of(shown.head) != shown.producer.head || shown.head.outputs.empty()) {
    return rejected("the head shown is not that of the step's graph");
  }
  const auto& outputs = shown.producer.node.outputs;
  const auto output = std::ranges::find(outputs, shown.head.outputs[0], &verify::GraphValue::id);
  if (output == outputs.end()) return rejected("the node shown does not make the loss");
  const auto node = static_cast<int64_t>(shown.producer.node.index), place = output - outputs.begin();
  const auto entry = std::ranges::find_if(
      schema, [&](const Entry& e) { return e.kind == Entry::Kind::kOutput && e.node == node && e.place == place; });
  if (entry == schema.end() || verify::shape_of(*entry).elements() != 1)
    return rejected("the loss is no number of the schema");
  LossOfValues found{static_cast<uint64_t>(entry - schema.begin()), {}};
  ISOBIT_TRY(const ShownTensor tensor, ShownTensor::open(TensorIdentity::of(*entry), roots[found.entry], shown.loss));
  ISOBIT_TRY(const judge::Bits bits, tensor.bits(0));
  found.loss =
      verify::LossBits::of(entry->dtype == DType::kFloat64 ? static_cast<float>(std::bit_cast<double>(bits))
                                                           : std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return found;
}

Expected<LossNode> loss_node(const verify::GraphTree& graph, const std::vector<Entry>& schema) {
  const int64_t id = graph.head().outputs[0];
  for (const verify::GraphNode& node : graph.nodes()) {
    const auto output = std::ranges::find(node.outputs, id, &verify::GraphValue::id);
    if (output == node.outputs.end()) continue;
    const auto entry = std::ranges::find_if(schema, [&](const Entry& e) {
      return e.kind == Entry::Kind::kOutput && e.node == static_cast<int64_t>(node.index) &&
             e.place == output - node.outputs.begin();
    });
    return LossNode{node.index, static_cast<uint64_t>(entry - schema.begin())};
  }
  return unavailable("no node makes the loss");
}

Status check_state(const judge::State& state, uint64_t chunk, const commit::InclusionProof& inclusion,
                   const commit::SizedRoot& states) {
  if (inclusion.index != chunk) return rejected("the state shown is that of another chunk");
  return commit::verify_inclusion(inclusion, commit::leaf_hash(state_leaf(chunk, state)), states);
}

Status check_state_tree(const StateTree& tree, uint64_t chunks) {
  if (tree.states.size != chunks || tree.inclusion.index != chunks - 1) {
    return rejected(
        text_of("a tree of ", tree.states.size, " states, expected ", chunks, ", of which the last is shown"));
  }
  return check_state(tree.last, chunks - 1, tree.inclusion, tree.states);
}

}  // namespace isobit::dispute
