#include "isobit/lab/explain/causes.h"

#include <algorithm>
#include <set>

#include "isobit/lab/explain/causes_internal.h"

namespace isobit::lab::explain {
namespace {

// One platform of each class of the replay, then those of the records that the replay could not run: of every engine
// the first one, then the others.
std::vector<size_t> platforms_to_ask(const Explanation& e, const Replay& replay) {
  std::vector<size_t> chosen;
  std::set<int> classes;
  for (size_t i = 0; i < replay.platforms.size(); ++i) {
    if (classes.insert(replay.classes[i]).second) chosen.push_back(replay.platforms[i]);
  }
  const deviation::TracedValue& value = e.trace.values[e.forks[replay.fork].value];
  std::vector<size_t> more;
  std::set<std::string> engines;
  for (size_t p = 0; p < value.at.size(); ++p) {
    if (value.at[p] == nullptr || std::ranges::count(replay.platforms, p) > 0) continue;
    (engines.insert(e.comparison.platforms[p].record.engine).second ? chosen : more).push_back(p);
  }
  chosen.insert(chosen.end(), more.begin(), more.end());
  return chosen;
}

}  // namespace

std::vector<std::string> findings_of(const KernelTree& tree) {
  std::vector<std::string> found;
  const std::string& text = tree.rounding;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find("; ", at), text.size());
    const std::string part = text.substr(at, end - at);
    if (!(part.starts_with("subnormal") && part.ends_with(": kept"))) found.push_back(part);
    at = end + 2;
  }
  return found;
}

bool adds_alike(const KernelTree& a, const KernelTree& b) {
  const auto of_normal_numbers = [](const KernelTree& tree) {
    auto findings = findings_of(tree);
    std::erase_if(findings, [](const std::string& part) { return part.starts_with("subnormal"); });
    return findings;
  };
  return a.digest == b.digest && of_normal_numbers(a) == of_normal_numbers(b);
}

Contradictions contradictions_of(const Explanation& e, const Causes& c) {
  const deviation::TracedValue& value = e.trace.values[e.forks[c.replays.forks[*c.first].fork].value];
  Contradictions found;
  std::vector<const KernelTree*> seen;  // one for each class and order
  for (const KernelTree& t : c.trees) {
    const int k = value.classes[t.platform];
    if (t.digest.empty() || k == 0 || std::ranges::count(c.same_inputs, t.platform) == 0) continue;
    const auto class_is = [&](const KernelTree* other) { return value.classes[other->platform] == k; };
    const auto alike = [&](const KernelTree* other) { return adds_alike(*other, t); };
    const auto both = [&](const KernelTree* other) { return class_is(other) && alike(other); };
    if (std::ranges::any_of(seen, both)) continue;
    const auto same = std::ranges::find_if(seen, class_is);
    if (same != seen.end()) found.same_bits.emplace_back((*same)->platform, t.platform);
    for (const KernelTree* other : seen) {
      if (alike(other) && !class_is(other)) found.same_order.emplace_back(other->platform, t.platform);
    }
    seen.push_back(&t);
  }
  found.compared = seen.size();
  return found;
}

namespace {

Expected<AskedSum> asked_at(const Explanation& explanation, const deviation::TensorSource& tensors,
                            const CausesRequest& request, const Replayer& replayer, size_t fork,
                            const std::vector<size_t>& platforms = {}) {
  const deviation::TracedValue& value = explanation.trace.values[explanation.forks[fork].value];
  ISOBIT_TRY(const Versions versions, Versions::load(value, tensors, request.replay.most_bytes, platforms));
  return asked_of(replayer.part(fork), replayer.feeds(), versions);
}

Status ask_earlier(const Explanation& explanation, const deviation::TensorSource& tensors, const CausesRequest& request,
                   const Replayer& replayer, Causes& causes) {
  if (!explanation.first || !causes.replays.problem.empty()) return {};
  if (causes.first && causes.replays.forks[*causes.first].fork <= *explanation.first) return {};
  const TracedFork& fork = explanation.forks[*explanation.first];
  if (fork.region.size() != 1 || !replayer.has_part(*explanation.first)) return {};
  causes.earlier = explanation.first;
  ISOBIT_TRY(causes.earlier_asked, asked_at(explanation, tensors, request, replayer, *causes.earlier));
  if (!causes.earlier_asked.sum) return {};
  for (const auto& group : fork.splits.front()) {  // one of each result
    if (causes.earlier_trees.size() == kMaxTrees) break;
    causes.earlier_trees.push_back(tree_of(explanation, group.front(), *causes.earlier_asked.sum, request.python));
  }
  return {};
}

// Kernels that add alike at the element they were asked for, though their bits differ elsewhere: there.
Status ask_again(const Explanation& explanation, const deviation::TensorSource& tensors, const CausesRequest& request,
                 const Replayer& replayer, Causes& causes) {
  const size_t fork = causes.replays.forks[*causes.first].fork;
  for (const auto& [a, b] : contradictions_of(explanation, causes).same_order) {
    if (causes.again.size() == kMaxAgain) break;
    AskedAgain again;
    ISOBIT_TRY(again.asked, asked_at(explanation, tensors, request, replayer, fork, {a, b}));
    if (!again.asked.sum) continue;
    for (const size_t p : {a, b}) again.trees.push_back(tree_of(explanation, p, *again.asked.sum, request.python));
    causes.again.push_back(std::move(again));
  }
  return {};
}

std::optional<size_t> first_introduced(const Replays& replays) {
  const auto first = std::ranges::find(replays.forks, Origin::kIntroduced, &Replay::origin);
  if (first == replays.forks.end()) return std::nullopt;
  return static_cast<size_t>(first - replays.forks.begin());
}

Expected<Causes> causes_in_training(const Explanation& explanation, const CausesRequest& request) {
  ISOBIT_TRY(const TrainingReplays training,
             replay_training(explanation, {.job = request.replay.inference.model,
                                           .overrides = request.overrides,
                                           .max_memory = request.replay.inference.max_memory,
                                           .own = request.replay.own}));
  Causes causes;
  causes.replays = training.replays;
  causes.first = first_introduced(causes.replays);
  if (!causes.first) return causes;
  causes.diagnoses = diagnose_forks(explanation, training);
  causes.asked.problem = "of a training only the operator itself is asked";
  return causes;
}

}  // namespace

bool AskedAgain::is_settled() const {
  return !trees[0].digest.empty() && !trees[1].digest.empty() && !adds_alike(trees[0], trees[1]);
}

Expected<Causes> find_causes(const Explanation& explanation, const deviation::TensorSource& tensors,
                             const CausesRequest& request, std::optional<onnx::Model> model) {
  const records::Subject& subject = explanation.comparison.subject;
  if (subject.kind == records::SubjectKind::kTraining) return causes_in_training(explanation, request);
  if (!model) {
    ISOBIT_TRY(model, measured_model(subject, request.replay.inference));
  }
  Replayer replayer = Replayer::open(explanation, tensors, request.replay, *std::move(model));
  Causes causes;
  ISOBIT_TRY(causes.replays, replayer.replay());
  causes.first = first_introduced(causes.replays);
  ISOBIT_RETURN_IF_ERROR(ask_earlier(explanation, tensors, request, replayer, causes));
  if (!causes.first) return causes;
  const Replay& replay = causes.replays.forks[*causes.first];
  causes.same_inputs = replayer.with_inputs_of_reference(causes.replays, replay);
  causes.diagnoses = diagnose_forks(explanation, replayer, causes.replays);
  ISOBIT_TRY(causes.asked, asked_at(explanation, tensors, request, replayer, replay.fork));
  causes.trials = try_changes(replayer, causes.replays, replay, causes.asked.sum.has_value());
  if (!causes.asked.sum) return causes;
  for (const size_t p : platforms_to_ask(explanation, replay)) {
    if (request.replay.own.contains(explanation.comparison.platforms[p].record.name)) continue;  // no text names it
    if (causes.trees.size() == kMaxTrees) {
      causes.not_asked.push_back(p);
      continue;
    }
    causes.trees.push_back(tree_of(explanation, p, *causes.asked.sum, request.python));
  }
  ISOBIT_RETURN_IF_ERROR(ask_again(explanation, tensors, request, replayer, causes));
  return causes;
}

}  // namespace isobit::lab::explain
