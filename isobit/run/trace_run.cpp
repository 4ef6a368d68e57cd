#include "isobit/run/trace_run.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"
#include "isobit/run/bundle_replay.h"

namespace isobit::run {
namespace {

using Kind = train::TraceEntry::Kind;

// Hashes what a step is fed, and then what its operators make.
class TraceObserver : public runtime::Observer {
 public:
  TraceObserver(const train::StepGraph& step, const std::vector<train::TraceEntry>& schema,
                std::optional<uint64_t> wanted)
      : step_(step), schema_(schema), wanted_(wanted), roots_(schema.size()), known_(schema.size(), false) {
    for (size_t i = 0; i < schema.size(); ++i) {
      const train::TraceEntry& e = schema[i];
      if (e.kind == Kind::kOutput) outputs_[value_of(e)] = i;
      if (e.kind == Kind::kStatistic) statistics_[{e.node, e.place}] = i;
    }
    for (size_t n = 0; n < step.graph.nodes().size(); ++n) nodes_[first_output(step.graph, step.graph.nodes()[n])] = n;
  }

  // The entries of what is fed come first, in the order of the step graph's parts.
  void take_feeds(const train::Trainer& trainer, const runtime::Executor::Feeds& feeds, ThreadPool& pool) {
    size_t next = 0;
    for (const NamedTensor& piece : trainer.state()) take(next++, piece.tensor, pool);
    for (const auto& [id, tensor] : feeds) take(next++, tensor, pool);
  }

  bool wants_statistics() const override { return true; }

  Status before_stage(const runtime::NodeRun& run) override {
    if (run.statistics.empty()) return {};
    const auto node = nodes_.find(first_output(run.graph, run.node));
    for (size_t s = 0; node != nodes_.end() && s < run.statistics.size(); ++s) {
      const auto entry = statistics_.find({static_cast<int64_t>(node->second), static_cast<int64_t>(s)});
      if (entry != statistics_.end()) take(entry->second, run.statistics[s], *run.ctx.pool);
    }
    return {};
  }

  Status after_stage(const runtime::NodeRun& run) override {
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      if (!run.outputs[o].defined()) continue;
      const auto entry = outputs_.find(run.graph.value(run.node.outputs[o]).name);
      if (entry != outputs_.end()) take(entry->second, run.outputs[o], *run.ctx.pool);
    }
    return {};
  }

  // The first entry that nothing was hashed for.
  std::optional<size_t> missing() const {
    const auto found = std::ranges::find(known_, false);
    if (found == known_.end()) return std::nullopt;
    return static_cast<size_t>(found - known_.begin());
  }
  std::vector<commit::TensorRoot> take_roots() { return std::move(roots_); }
  Tensor take_value() { return std::move(value_); }

 private:
  // A graph whose frozen parameters are constants has the same values by their names.
  std::string value_of(const train::TraceEntry& e) const {
    const graph::Node& node = step_.graph.nodes()[static_cast<size_t>(e.node)];
    return step_.graph.value(node.outputs[static_cast<size_t>(e.place)]).name;
  }
  static std::string first_output(const graph::Graph& graph, const graph::Node& node) {
    for (const graph::ValueId id : node.outputs) {
      if (id != graph::kNoValue) return graph.value(id).name;
    }
    return "";
  }
  void take(size_t index, const Tensor& tensor, ThreadPool& pool) {
    const train::TraceEntry& e = schema_[index];
    roots_[index] = commit::tensor_root(e.name, tensor, verify::layout_of(e), pool);
    known_[index] = true;
    if (wanted_ == index) value_ = tensor.clone();
  }

  const train::StepGraph& step_;
  const std::vector<train::TraceEntry>& schema_;
  const std::optional<uint64_t> wanted_;
  std::map<std::string, size_t> outputs_;
  std::map<std::pair<int64_t, int64_t>, size_t> statistics_;  // by node and place
  std::map<std::string, size_t> nodes_;                       // by the name of the first output
  std::vector<commit::TensorRoot> roots_;
  std::vector<bool> known_;
  Tensor value_;
};

Error differs(uint64_t step, const char* what) {
  return {ErrorCode::kRejected,
          text_of("step ", step, ": this machine computes another ", what, " than the run commits to, so there is no ",
                  "trace of the run's own to show; 'isobit audit' says where the run and this machine part")};
}

// A step as the run has it, or what does not agree.
Status compare(const bundle::BundleReader& reader, const verify::StepOutcome& outcome, RunReplay& replay) {
  const uint64_t step = outcome.step;
  if (outcome.fault) return rejected(text_of("step ", step, ": ", outcome.fault->what));
  const verify::StepLeaf leaf = reader.transcript().step(step);
  if (outcome.batch != leaf.batch) return tl::unexpected<Error>(differs(step, "batch"));
  if (outcome.loss != leaf.loss) return tl::unexpected<Error>(differs(step, "loss"));
  const auto committed = reader.transcript().committed_state(step);
  if (!committed) return {};
  ISOBIT_TRY(const commit::Digest state, replay.state_root());
  return state == *committed ? Status() : tl::unexpected<Error>(differs(step, "state"));
}

uint64_t steps_of(const bundle::BundleReader& reader) { return reader.transcript().steps(); }

std::vector<std::string> operators_of(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes()) names.push_back(node.op);
  return names;
}

}  // namespace

std::string TracedStep::operator_of(uint64_t value) const {
  const int64_t node = trace.schema()[value].node;
  return node < 0 ? "" : operators[static_cast<size_t>(node)];
}

Expected<TracedStep> trace_step(const TraceRequest& request) {
  ISOBIT_TRY(OpenedRun opened, open_run(request.open));
  const bundle::BundleReader& reader = opened.reader;
  if (request.step < 1 || request.step > steps_of(reader)) {
    return usage_error(
        text_of("--step ", request.step, ": expected 1 to ", steps_of(reader), ", the steps of this run"));
  }
  platform::Engine engine(request.platform);
  ISOBIT_TRY(Session session, open_session(opened.job, engine, request.open.limits, Purpose::kAudit));
  ISOBIT_RETURN_IF_ERROR(check_job_root(session, reader.engagement().terms.job_root));
  const train::StepGraph& graph = session.trainer->step_graph();
  if (!graph.disputable) {
    return unreadable("the values of a step of this network follow from data, so that its steps have no trace");
  }
  const std::vector<train::TraceEntry> schema = train::trace_schema(graph);
  std::optional<uint64_t> chosen;
  if (request.choose) {
    ISOBIT_TRY(chosen, request.choose(schema));
  }
  ReplayTally tally;
  BundleReplays replays(reader, session, engine, tally);
  uint64_t from = 0;
  for (const uint64_t start : replays.starts()) from = start < request.step ? std::max(from, start) : from;
  ISOBIT_TRY(const std::unique_ptr<RunReplay> replay, replays.open_replay(from));
  for (uint64_t step = from + 1; step < request.step; ++step) {
    ISOBIT_TRY(const verify::StepOutcome outcome, replay->advance());
    ISOBIT_RETURN_IF_ERROR(compare(reader, outcome, *replay));
    if (request.progress) request.progress(step - from, request.step - from);
  }
  TraceObserver observer(graph, schema, chosen);
  {
    ISOBIT_TRY(const train::StepInputs inputs, session.trainer->inputs());
    observer.take_feeds(*session.trainer, session.trainer->feeds_of(inputs), engine.pool());
  }
  ISOBIT_TRY(const verify::StepOutcome outcome, replay->advance_seen_by(&observer));
  const Status same = compare(reader, outcome, *replay);
  const bool differs = !same && same.error().code == ErrorCode::kRejected && !outcome.fault;
  if (!same && !(differs && request.as_computed_here)) return tl::unexpected<Error>(same.error());
  if (const auto missing = observer.missing()) {
    return unavailable(text_of("the step made no value '", schema[*missing].name, "' of its schema"));
  }
  const commit::Digest schema_root = trace_schema_root(schema);
  return TracedStep{verify::StepTrace(session.root, request.step, schema, observer.take_roots()),
                    schema_root,
                    chosen,
                    observer.take_value(),
                    from,
                    same && reader.transcript().committed_state(request.step).has_value(),
                    same ? "" : same.error().message,
                    operators_of(graph.graph),
                    reader.engagement()};
}

verify::ValueOpening open_value(const TracedStep& traced, const std::vector<uint64_t>& tiles, ThreadPool& pool) {
  verify::ValueOpening opening = verify::ValueOpening::of(traced.trace, *traced.chosen);
  const commit::Digest header = opening.tensor_root().header;
  const commit::TensorLayout layout = verify::layout_of(opening.entry);
  const auto leaves = commit::tile_hashes(header, traced.value, layout, pool);
  for (const uint64_t tile : tiles) {
    opening.opened.push_back({commit::tile_bytes(header, traced.value, layout, static_cast<int64_t>(tile)),
                              commit::prove_inclusion(leaves, tile)});
  }
  return opening;
}

}  // namespace isobit::run
