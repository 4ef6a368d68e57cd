#include "isobit/run/trace_run.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/run/bundle_replay.h"
#include "isobit/run/step_tracer.h"

namespace isobit::run {
namespace {

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

std::string TracedStep::operator_of(uint64_t entry) const {
  const int64_t node = trace.schema()[entry].node;
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
  StepTracer tracer(graph, schema, chosen ? std::set<uint64_t>{*chosen} : std::set<uint64_t>{});
  {
    ISOBIT_TRY(const train::StepInputs inputs, session.trainer->inputs());
    tracer.take_feeds(*session.trainer, session.trainer->feeds_of(inputs), engine.pool());
  }
  ISOBIT_TRY(const verify::StepOutcome outcome, replay->advance_seen_by(&tracer));
  const Status same = compare(reader, outcome, *replay);
  const bool differs = !same && same.error().code == ErrorCode::kRejected && !outcome.fault;
  if (!same && !(differs && request.as_computed_here)) return tl::unexpected<Error>(same.error());
  if (const auto missing = tracer.missing()) {
    return unavailable(text_of("the step made no value '", schema[*missing].name, "' of its schema"));
  }
  const commit::Digest schema_root = verify::schema_root(schema);
  return TracedStep{verify::StepTrace(session.root, request.step, schema, tracer.take_roots()),
                    schema_root,
                    chosen,
                    chosen ? tracer.take_values().at(*chosen) : Tensor(),
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
