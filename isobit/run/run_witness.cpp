#include "isobit/run/run_witness.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/data/order.h"
#include "isobit/run/step_tracer.h"

namespace isobit::run {

Expected<std::unique_ptr<RunWitness>> RunWitness::open(const OpenRequest& request, const platform::Platform& platform,
                                                       const As& as) {
  ISOBIT_TRY(OpenedRun opened, open_run(request));
  std::unique_ptr<RunWitness> witness(new RunWitness(std::move(opened), platform, as));
  ISOBIT_RETURN_IF_ERROR(witness->prepare(request.limits));
  return witness;
}

RunWitness::RunWitness(OpenedRun opened, const platform::Platform& platform, const As& as)
    : opened_(std::move(opened)), engine_(platform), as_(as) {}

Status RunWitness::prepare(const Limits& limits) {
  ISOBIT_TRY(session_, open_session(opened_.job, engine_, limits, Purpose::kAudit));
  ISOBIT_RETURN_IF_ERROR(check_job_root(session_, reader().engagement().terms.job_root));
  const train::StepGraph& step = session_.trainer->step_graph();
  if (!step.disputable) {
    return unreadable(
        "the job's steps have no schema, so that no value of them can be disputed: shapes follow from "
        "data, or a node has graphs within it");
  }
  LogUse log;
  if (as_.conduct) {
    log.writes = as_.conduct->log_writer;
  } else if (as_.judged != nullptr) {
    log = {&as_.judged->reader(), runtime::OnIllegal::kTakeExact, nullptr};
  }
  replays_ = std::make_unique<BundleReplays>(opened_.reader, session_, engine_, tally_, nullptr,
                                             as_.conduct ? as_.conduct->step : take_step, log,
                                             as_.conduct ? as_.conduct->begin : nullptr);
  schema_ = train::trace_schema(step);
  tree_.emplace(step.graph, engine_.pool());
  for (const NamedTensor& t : session_.trainer->frozen()) {
    frozen_.push_back({t.name, commit::tensor_root(t.name, t.tensor, {}, engine_.pool()).digest()});
  }
  std::ranges::sort(frozen_, {}, &commit::StateEntry::name);
  return {};
}

Expected<std::unique_ptr<RunReplay>> RunWitness::replay_to(uint64_t start, uint64_t step) {
  ISOBIT_TRY(std::unique_ptr<RunReplay> replay, replays_->open_replay(start));
  for (uint64_t t = start + 1; t <= step; ++t) {
    ISOBIT_TRY(const verify::StepOutcome outcome, replay->advance());
    if (outcome.fault) return rejected(text_of("step ", t, ": ", outcome.fault->what));
  }
  return replay;
}

// Checkpoints are somebody's word: where the one before does not lead to the state that the run commits to, the next
// older one is taken, and in the end the initial state.
Expected<std::unique_ptr<RunReplay>> RunWitness::stand_after(uint64_t step) {
  scored_.reset();  // its state is the one that the trainer has
  std::vector<uint64_t> starts = replays_->starts();
  std::erase_if(starts, [&](uint64_t s) { return s > step; });
  // Who judges a run agrees with it on the states before what it doubts.
  const verify::Transcript& agreed = (as_.judged == nullptr ? reader() : as_.judged->reader()).transcript();
  const auto committed = agreed.committed_state(step);
  for (; starts.size() > 1 && committed; starts.pop_back()) {
    auto replay = replay_to(starts.back(), step);
    if (!replay) continue;
    ISOBIT_TRY(const commit::Digest root, (*replay)->state_root());
    if (root == *committed) return replay;
  }
  return replay_to(committed ? 0 : starts.back(), step);
}

Expected<std::vector<dispute::StepPoint>> RunWitness::points(uint64_t first, uint64_t last) {
  if (points_of_ == std::pair(first, last)) return points_;
  const verify::Transcript& transcript = reader().transcript();
  std::unique_ptr<RunReplay> replay;  // none where the transcript says all
  for (uint64_t t = first + 1; t <= last && !replay; ++t) {
    if (as_.is_trainer && transcript.committed_state(t)) continue;
    ISOBIT_TRY(replay, stand_after(first));
  }
  std::vector<dispute::StepPoint> points;
  for (uint64_t t = first + 1; t <= last; ++t) {
    dispute::StepPoint point;
    if (replay) {
      ISOBIT_TRY(const verify::StepOutcome outcome, replay->advance());
      if (outcome.fault) return rejected(text_of("step ", t, ": ", outcome.fault->what));
      ISOBIT_TRY(const commit::Digest state, replay->state_root());
      point = {outcome.batch, outcome.loss, outcome.log_segment, state};
    }
    if (as_.is_trainer) {
      const verify::StepLeaf& leaf = transcript.step(t);
      point = {leaf.batch, leaf.loss, leaf.log_segment, transcript.committed_state(t).value_or(point.state_root)};
    }
    points.push_back(point);
  }
  points_of_ = {first, last};
  points_ = points;
  return points;
}

Expected<StepTracer> RunWitness::trace(uint64_t step, std::set<uint64_t> wanted, StepTracer::Hash hash,
                                       const See& see) {
  ISOBIT_TRY(const std::unique_ptr<RunReplay> replay, stand_after(step - 1));
  const train::StepGraph& graph = session_.trainer->step_graph();
  StepTracer tracer(graph, schema_, std::move(wanted), hash, see);
  {
    ISOBIT_TRY(const train::StepInputs inputs, session_.trainer->inputs());
    tracer.take_feeds(*session_.trainer, session_.trainer->feeds_of(inputs), engine_.pool());
  }
  ISOBIT_TRY(const verify::StepOutcome outcome, replay->advance_seen_by(&tracer));
  if (outcome.fault) return rejected(text_of("step ", step, ": ", outcome.fault->what));
  if (as_.conduct) tracer.take_state_after(*session_.trainer, engine_.pool());
  if (const auto missing = tracer.missing()) {
    return unavailable(text_of("the step made no value '", schema_[*missing].name, "' of its schema"));
  }
  return tracer;
}

Expected<std::vector<commit::TensorRoot>> RunWitness::roots(uint64_t step) {
  ISOBIT_TRY(StepTracer tracer, trace(step, {}, StepTracer::Hash::kAll));
  return tracer.take_roots();
}

Expected<std::map<uint64_t, Tensor>> RunWitness::values(uint64_t step, const std::set<uint64_t>& entries) {
  ISOBIT_TRY(StepTracer tracer, trace(step, entries, StepTracer::Hash::kNothing));
  return tracer.take_values();
}

Status RunWitness::visit(uint64_t step, const std::set<uint64_t>& entries, const See& see) {
  ISOBIT_RETURN_IF_ERROR(trace(step, entries, StepTracer::Hash::kNothing, see));
  return {};
}

// The segment as the run has it, which need not be what its leaf commits to.
Expected<verify::LogTree> RunWitness::log(uint64_t step) {
  const bundle::BundleReader& of = as_.judged == nullptr ? reader() : as_.judged->reader();
  ISOBIT_TRY(const Bytes bytes, of.read_log_segment(step));
  ISOBIT_TRY(const verify::LogTree tree, read_log_tree(session_.job, session_.trainer->step_graph(), step, bytes));
  return tree;
}

Expected<std::optional<runtime::EntryPlace>> RunWitness::illegal_entry(uint64_t step) {
  ISOBIT_TRY(const std::unique_ptr<RunReplay> replay, stand_after(step - 1));
  ISOBIT_RETURN_IF_ERROR(replay->advance().map([](auto&&) {}));
  return replay->first_illegal();
}

Expected<std::optional<uint64_t>> RunWitness::first_difference(const verify::Transcript& theirs, uint64_t after) {
  ISOBIT_TRY(const std::unique_ptr<RunReplay> replay, stand_after(after));
  for (uint64_t t = after + 1; t <= theirs.steps(); ++t) {
    ISOBIT_TRY(const verify::StepOutcome outcome, replay->advance());
    if (outcome.fault) return rejected(text_of("step ", t, ": ", outcome.fault->what));
    const verify::StepLeaf& leaf = theirs.step(t);
    if (leaf.batch != outcome.batch || leaf.loss != outcome.loss || leaf.log_segment != outcome.log_segment) return t;
    if (!leaf.state_root) continue;
    ISOBIT_TRY(const commit::Digest state, replay->state_root());
    if (state != *leaf.state_root) return t;
  }
  return std::nullopt;
}

Expected<const verify::EvaluationTree*> RunWitness::evaluation() {
  if (!evaluation_) {
    ISOBIT_RETURN_IF_ERROR(stand_after(static_cast<uint64_t>(session_.job.steps)).map([](auto&&) {}));
    ISOBIT_TRY(const train::SampleScores scored,
               as_.conduct ? as_.conduct->evaluate(*session_.trainer) : session_.trainer->evaluate());
    evaluation_.emplace(scored);
  }
  return &*evaluation_;
}

Expected<std::vector<verify::ScoredGraph>> RunWitness::scored_graphs() {
  if (!session_.parts.graphs_scored) return std::vector<verify::ScoredGraph>();
  if (graphs_.empty()) {
    ISOBIT_TRY(graphs_, run::scored_graphs(session_.job, *session_.dataset, *session_.network, engine_.pool()));
  }
  return graphs_;
}

Expected<dispute::Witness*> RunWitness::scored(uint64_t sample) {
  if (!scored_ || scored_->sample_number() != sample) {
    ISOBIT_RETURN_IF_ERROR(stand_after(static_cast<uint64_t>(session_.job.steps)).map([](auto&&) {}));
    ISOBIT_TRY(scored_, EvaluationWitness::open(session_, engine_, sample));
  }
  return scored_.get();
}

dispute::ShownNode RunWitness::node(uint64_t index) {
  return dispute::show_node(session_.trainer->step_graph().graph, *tree_, index, frozen_);
}

Expected<Tensor> RunWitness::given(const dispute::Operand& operand) {
  const graph::Graph& graph = session_.trainer->step_graph().graph;
  const std::string& name = operand.identity.name;
  if (const graph::ValueId id = graph.find(name); id != graph::kNoValue) {
    if (const Tensor* constant = graph.initializer(id)) return *constant;
  }
  const auto frozen = std::ranges::find(session_.trainer->frozen(), name, &NamedTensor::name);
  if (frozen != session_.trainer->frozen().end()) return frozen->tensor;
  return unreadable(text_of("nothing is called '", name, "' among the constants and what is frozen"));
}

int64_t RunWitness::sample_at(uint64_t step, int64_t position) const {
  return data::sample_index(session_.job.seed, session_.job.batch, session_.dataset->train_count(),
                            static_cast<int64_t>(step) - 1, position);
}

Expected<verify::ShownLeaves> RunWitness::batch(uint64_t step) {
  std::vector<int64_t> indices;
  for (int64_t j = 0; j < session_.job.batch; ++j) indices.push_back(sample_at(step, j));
  return verify::ShownLeaves::of(session_.commitment->trees, session_.commitment->train_leaves, indices);
}

Expected<verify::ShownSample> RunWitness::sample(uint64_t step, int64_t position) {
  const int64_t index = sample_at(step, position);
  Bytes bytes;
  ISOBIT_RETURN_IF_ERROR(session_.dataset->sample_bytes(data::Split::kTrain, index, bytes));
  ISOBIT_TRY(const commit::Salt salt, dataset_salt(session_.job));
  return verify::ShownSample::of(session_.commitment->trees, session_.commitment->train_leaves,
                                 static_cast<uint64_t>(index), salt, std::move(bytes));
}

}  // namespace isobit::run
