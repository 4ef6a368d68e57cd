#include "isobit/dispute/scoring.h"

#include <algorithm>
#include <array>

#include "isobit/base/text.h"
#include "isobit/train/trace_schema.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

using Entry = train::TraceEntry;

// Names with roots that lead to this state root.
Status take_names(const std::vector<commit::StateEntry>& entries, uint64_t step, const commit::Digest& root,
                  const char* what, std::map<std::string, commit::Digest>& given) {
  ISOBIT_TRY(const commit::StateRoot all, commit::state_root(entries, step));
  if (all.digest() != root) return rejected(text_of(what, " shown is another one"));
  for (const commit::StateEntry& e : entries) given.emplace(e.name, e.tensor_root);
  return {};
}

Tensor without_elements(const Entry& entry) { return Tensor::without_storage(entry.dtype, Shape(entry.dims)); }

// The elements of one operand of a score, or of none.
Expected<Tensor> read_elements(const ScoreShowing& shown, uint32_t index, const Entry& entry,
                               const commit::Digest& root, const train::ItemParts::Range& range) {
  Tensor out = Tensor::zeros(entry.dtype, {range.count});
  if (range.count == 0) return out;
  const auto part = std::ranges::find(shown.shown, index, &ShownPart::index);
  if (part == shown.shown.end()) return unreadable(text_of("'", entry.name, "' is not shown"));
  ISOBIT_TRY(const ShownTensor tensor, ShownTensor::open(TensorIdentity::of(entry), root, part->tiles));
  for (int64_t i = 0; i < range.count; ++i) {
    ISOBIT_TRY(const judge::Bits bits, tensor.bits(range.first + i));
    const size_t size = size_of(entry.dtype);
    std::memcpy(static_cast<uint8_t*>(out.raw()) + static_cast<size_t>(i) * size, &bits, size);
  }
  return out;
}

}  // namespace

Expected<uint64_t> entry_of(const graph::Graph& graph, graph::ValueId id, const std::vector<Entry>& schema) {
  const std::string& name = graph.value(id).name;
  const auto found =
      std::ranges::find_if(schema, [&](const Entry& e) { return e.kind != Entry::Kind::kStatistic && e.name == name; });
  if (found == schema.end()) return unreadable(text_of("'", name, "' is no value of the evaluation's graph"));
  return static_cast<uint64_t>(found - schema.begin());
}

Subject scoring_subject(const Subject& subject) {
  Subject scoring = subject;
  scoring.arithmetic = train::scoring_arithmetic(subject.job);
  scoring.rules.logged = false;
  return scoring;
}

Expected<ScoredSamples> scored_samples(const train::Job& job, const verify::JobRootParts& parts,
                                       const std::vector<verify::ScoredGraph>& graphs) {
  const bool same = parts.graphs_scored ? verify::scored_graphs_digest(graphs) == *parts.graphs_scored : graphs.empty();
  if (!same) return rejected("the graphs shown are not those that the job's evaluation may run");
  // A network that takes one size of batch has one graph, and every other more than one.
  const int64_t only = graphs.size() == 1 ? graphs[0].batch : 0;
  if (std::ranges::any_of(graphs, [](const verify::ScoredGraph& g) { return g.batch < 1; })) {
    return rejected("a graph is of batches without samples");
  }
  const int64_t count = train::evaluation_samples(job, static_cast<int64_t>(parts.test_samples), only);
  if (count < only) return rejected(text_of("batches of ", only, " samples, and ", count, " to be scored"));
  return ScoredSamples{static_cast<uint64_t>(count), only};
}

std::string problem_of_evaluation(const verify::Evaluation& e, const train::Job& job, uint64_t samples) {
  if (e.samples != samples) return text_of("its evaluation is of ", e.samples, " samples, and the job's of ", samples);
  const std::vector<std::string> names = train::metric_names(job.loss);
  if (!std::ranges::equal(e.metrics, names, {}, &train::Metric::name)) {
    return "its evaluation has other metrics than the job's loss";
  }
  // Of no samples there is nothing to go down to.
  if (samples == 0 && e != verify::EvaluationTree(train::SampleScores{names, {}}).evaluation()) {
    return "its evaluation of no samples is that of some";
  }
  return "";
}

train::ScoredBatch Scoring::batch() const { return {range.count, losses_, &output_, &target_}; }

int64_t Scoring::items(const train::Job& job, uint64_t metric) const {
  return train::items_of(job.loss, metric, batch());
}

train::ItemParts Scoring::parts_of(const train::Job& job, uint64_t metric, int64_t item) const {
  return train::parts_of_item(job.loss, metric, batch(), row, item);
}

std::optional<uint64_t> Scoring::entry(uint32_t index) const {
  return index == 0 ? std::optional(losses) : index == 1 ? std::optional(output) : index == 2 ? target : std::nullopt;
}

Expected<Scoring> scoring_of(const GraphShowing& shown, const Subject& subject, const verify::JobRootParts& parts,
                             const std::vector<verify::ScoredGraph>& graphs, const commit::Digest& last_state,
                             uint64_t sample) {
  const train::Job& job = subject.job;
  ISOBIT_TRY(const ScoredSamples samples, scored_samples(job, parts, graphs));
  Scoring s;
  s.parts.graph = parts.eval_graph;
  s.range = {static_cast<int64_t>(sample), 1, 0};  // rows do not meet, so that one alone has the same bits
  if (parts.graphs_scored) {
    s.range = train::range_of_sample(job, static_cast<int64_t>(parts.test_samples), samples.only_batch,
                                     static_cast<int64_t>(sample));
    const auto found = std::ranges::find(graphs, s.range.count, &verify::ScoredGraph::batch);
    if (found == graphs.end()) return unreadable(text_of("no graph is of batches of ", s.range.count, " samples"));
    s.parts.graph = found->root;
  }
  s.row = static_cast<int64_t>(sample) - s.range.first;
  ISOBIT_TRY(const graph::Graph graph, graph_of(shown, s.parts.graph));
  ISOBIT_RETURN_IF_ERROR(take_names(shown.state, subject.rules.steps, last_state, "the last state", s.parts.given));
  if (shown.frozen.empty() != !parts.frozen) return rejected("what is frozen is missing, or is none of the job's");
  if (parts.frozen) {
    ISOBIT_RETURN_IF_ERROR(take_names(shown.frozen, 0, parts.frozen->root, "what is frozen", s.parts.given));
  }
  s.parts.narrows = subject.arithmetic.computes_in == DType::kFloat64 &&
                    train::scoring_arithmetic(job).computes_in == DType::kFloat32;
  const auto is_constant = [&](const std::string& name) {
    return std::ranges::any_of(shown.constants, [&](const auto& c) { return c.second.identity.name == name; });
  };
  const train::StepGraph step = train::evaluation_step(
      graph, [&](const std::string& name) { return s.parts.given.contains(name) || is_constant(name); });
  if (!step.disputable || graph.outputs().size() != 2) {
    return unreadable("the values of the job's evaluation have no schema, so that none of them can be shown alone");
  }
  s.schema = train::evaluation_schema(step);
  for (const graph::Node& node : graph.nodes()) s.ops.push_back(node.op);
  ISOBIT_TRY(s.losses, entry_of(graph, graph.outputs()[0], s.schema));
  ISOBIT_TRY(s.output, entry_of(graph, graph.outputs()[1], s.schema));
  s.losses_ = without_elements(s.schema[s.losses]);
  s.output_ = without_elements(s.schema[s.output]);
  if (job.loss != train::Loss::kOutput) {
    if (step.inputs.empty()) return unreadable("the evaluation's graph is fed no target");
    s.target = step.inputs.size() - 1;  // the last of what is fed
    s.target_ = without_elements(s.schema[*s.target]);
  }
  const auto is_of_samples = [&](const Entry& e) {
    return e.kind != Entry::Kind::kBatch || (!e.dims.empty() && e.dims[0] % s.range.count == 0);
  };
  if (!train::can_be_scored(job.loss, s.batch()) || !std::ranges::all_of(s.schema, is_of_samples)) {
    return unreadable("the values of the evaluation's graph are none that the job's loss scores");
  }
  return s;
}

int64_t position_in_range(const Entry& entry, int64_t element, const Scoring& scoring) {
  return element / (verify::shape_of(entry).elements() / scoring.range.count);
}

Expected<train::MetricSum> shown_score(const ScoreShowing& shown, const Scoring& scoring, const train::Job& job,
                                       const std::vector<commit::Digest>& roots, uint64_t metric, int64_t item) {
  const train::ItemParts parts = scoring.parts_of(job, metric, item);
  const std::array<train::ItemParts::Range, 3> ranges = {parts.losses, parts.output, parts.target};
  std::array<Tensor, 3> read;
  for (uint32_t i = 0; i < read.size(); ++i) {
    const auto entry = scoring.entry(i);
    if (!entry) continue;
    ISOBIT_TRY(read[i], read_elements(shown, i, scoring.schema[*entry], roots[*entry], ranges[i]));
  }
  const auto score = train::score_of_item(job.loss, metric, read[0], read[1], read[2]);
  if (!score) return unreadable("the target is a class that the output does not have");
  return *score;
}

}  // namespace isobit::dispute
