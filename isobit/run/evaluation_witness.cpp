#include "isobit/run/evaluation_witness.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/data/batch.h"
#include "isobit/dispute/scoring.h"
#include "isobit/train/metrics.h"

namespace isobit::run {
namespace {

const NamedTensor* find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

Expected<std::unique_ptr<EvaluationWitness>> EvaluationWitness::open(const Session& session, platform::Engine& engine,
                                                                     uint64_t sample) {
  std::unique_ptr<EvaluationWitness> witness(new EvaluationWitness(session, engine, sample));
  ISOBIT_RETURN_IF_ERROR(witness->prepare());
  return witness;
}

Status EvaluationWitness::prepare() {
  const train::Job& job = session_.job;
  const int64_t only = session_.network->only_batch(), tests = session_.dataset->test_count();
  if (sample_ >= static_cast<uint64_t>(train::evaluation_samples(job, tests, only))) {
    return unavailable(text_of("sample ", sample_, " is none of those that are scored"));
  }
  const auto index = static_cast<int64_t>(sample_);
  range_ =
      session_.parts.graphs_scored ? train::range_of_sample(job, tests, only, index) : train::SampleRange{index, 1, 0};
  ISOBIT_TRY(eval_, train::build_eval_graph(job, *session_.dataset, range_.count, *session_.network));
  state_ = session_.trainer->state();
  frozen_ = session_.trainer->frozen();
  step_ = train::evaluation_step(eval_.graph, [this](const std::string& name) {
    return find(state_, name) != nullptr || find(frozen_, name) != nullptr;
  });
  std::vector<graph::ValueId> fed = eval_.inputs;
  if (eval_.target != graph::kNoValue) fed.push_back(eval_.target);
  if (!step_.disputable || step_.inputs != fed) {
    return unreadable(
        "the job's evaluation has no schema, so that no value of it can be disputed: shapes follow from data, or a "
        "node has graphs within it");
  }
  schema_ = train::evaluation_schema(step_);
  tree_.emplace(eval_.graph, engine_.pool());
  return {};
}

Expected<StepTracer> EvaluationWitness::trace(std::set<uint64_t> wanted, StepTracer::Hash hash) {
  const platform::Arithmetic& scores = train::scoring_arithmetic(session_.job);
  ISOBIT_TRY(const platform::Context context, engine_.context_for(scores));
  ISOBIT_TRY(const auto program, backends::native().compile(eval_.graph, context));
  ISOBIT_TRY(const data::Batch batch, data::test_batch(*session_.dataset, range_.first, range_.count, engine_.pool()));
  std::vector<NamedTensor> fed;
  std::vector<backends::Program::Feed> feeds;
  const auto feed = [&](graph::ValueId id, const Tensor& tensor) {
    fed.push_back({eval_.graph.value(id).name, tensor});
    feeds.emplace_back(id, tensor);
  };
  for (size_t i = 0; i < eval_.inputs.size(); ++i) feed(eval_.inputs[i], batch.inputs[i]);
  if (eval_.target != graph::kNoValue) {
    feed(eval_.target, batch.target.reshaped(eval_.graph.value(eval_.target).shape()));
  }
  const bool narrow = arithmetic_of(session_.job).computes_in != scores.computes_in;
  for (const auto& [name, id] : eval_.state) {
    const NamedTensor* tensor = find(state_, name);
    if (tensor == nullptr) tensor = find(frozen_, name);
    if (tensor == nullptr) return unreadable(text_of("'", name, "' is no tensor of the state"));
    feeds.emplace_back(id, narrow ? train::in_float32({*tensor})[0].tensor : tensor->tensor);
  }
  StepTracer tracer(step_, schema_, std::move(wanted), hash);
  tracer.take_inputs(fed, engine_.pool());
  std::vector<Tensor> out(eval_.graph.outputs().size());
  ISOBIT_RETURN_IF_ERROR(program->run(feeds, out, {.observer = &tracer}));
  if (const auto missing = tracer.missing()) {
    return unavailable(text_of("the evaluation made no value '", schema_[*missing].name, "' of its schema"));
  }
  return tracer;
}

Expected<std::vector<commit::TensorRoot>> EvaluationWitness::roots(uint64_t) {
  ISOBIT_TRY(StepTracer tracer, trace({}, StepTracer::Hash::kAll));
  return tracer.take_roots();
}

Expected<std::map<uint64_t, Tensor>> EvaluationWitness::values(uint64_t, const std::set<uint64_t>& entries) {
  ISOBIT_TRY(StepTracer tracer, trace(entries, StepTracer::Hash::kNothing));
  return tracer.take_values();
}

dispute::ShownNode EvaluationWitness::node(uint64_t index) {
  return dispute::show_node(eval_.graph, *tree_, index, {});
}

Expected<Tensor> EvaluationWitness::given(const dispute::Operand& operand) {
  const std::string& name = operand.identity.name;
  if (const graph::ValueId id = eval_.graph.find(name); id != graph::kNoValue) {
    if (const Tensor* constant = eval_.graph.initializer(id)) return *constant;
  }
  for (const auto* tensors : {&state_, &frozen_}) {
    if (const NamedTensor* tensor = find(*tensors, name)) return tensor->tensor;
  }
  return unreadable(text_of("nothing is called '", name, "' among the constants, the state and what is frozen"));
}

Expected<verify::ShownSample> EvaluationWitness::sample(uint64_t, int64_t position) {
  const int64_t index = range_.first + position;
  Bytes bytes;
  ISOBIT_RETURN_IF_ERROR(session_.dataset->sample_bytes(data::Split::kTest, index, bytes));
  ISOBIT_TRY(const commit::Salt salt, dataset_salt(session_.job));
  return verify::ShownSample::of(session_.commitment->trees, session_.commitment->test_leaves,
                                 static_cast<uint64_t>(index), salt, std::move(bytes), data::Split::kTest);
}

Expected<dispute::GraphShowing> EvaluationWitness::shown_graph() {
  dispute::GraphShowing shown = dispute::show_graph(eval_.graph, *tree_);
  const auto names = [this](const std::vector<NamedTensor>& tensors, std::vector<commit::StateEntry>& to) {
    for (const NamedTensor& t : tensors) {
      to.push_back({t.name, commit::tensor_root(t.name, t.tensor, {}, engine_.pool()).digest()});
    }
  };
  names(state_, shown.state);
  names(frozen_, shown.frozen);
  return shown;
}

Expected<std::vector<train::MetricSum>> EvaluationWitness::items(uint64_t metric) {
  const train::Loss loss = session_.job.loss;
  std::vector<graph::ValueId> read = {eval_.graph.outputs()[0], eval_.graph.outputs()[1]};
  if (eval_.target != graph::kNoValue) read.push_back(eval_.target);
  std::vector<uint64_t> entries;
  for (const graph::ValueId id : read) {
    ISOBIT_TRY(const uint64_t entry, dispute::entry_of(eval_.graph, id, schema_));
    entries.push_back(entry);
  }
  ISOBIT_TRY(const auto values, this->values(0, {entries.begin(), entries.end()}));
  const Tensor none = Tensor::zeros(DType::kFloat32, {0});
  const Tensor& target = entries.size() > 2 ? values.at(entries[2]) : none;
  const train::ScoredBatch batch{range_.count, values.at(entries[0]), &values.at(entries[1]), &target};
  const auto cut = [](const Tensor& from, const train::ItemParts::Range& range) {
    Tensor out = Tensor::zeros(from.dtype(), {range.count});
    const size_t size = size_of(from.dtype()), bytes = static_cast<size_t>(range.count) * size;
    const auto* data = static_cast<const uint8_t*>(from.raw());
    if (bytes > 0) std::memcpy(out.raw(), data + static_cast<size_t>(range.first) * size, bytes);
    return out;
  };
  std::vector<train::MetricSum> items;
  const int64_t row = static_cast<int64_t>(sample_) - range_.first, count = train::items_of(loss, metric, batch);
  for (int64_t i = 0; i < count; ++i) {
    const train::ItemParts p = train::parts_of_item(loss, metric, batch, row, i);
    const auto score = train::score_of_item(loss, metric, cut(batch.losses, p.losses), cut(*batch.output, p.output),
                                            cut(target, p.target));
    if (!score) return unavailable("the target is a class that the output does not have");
    items.push_back(*score);
  }
  return items;
}

Expected<std::vector<dispute::StepPoint>> EvaluationWitness::points(uint64_t, uint64_t) {
  return unavailable("an evaluation has no steps");
}
Expected<verify::ShownLeaves> EvaluationWitness::batch(uint64_t) {
  return unavailable("an evaluation has no batches of steps");
}
Expected<verify::LogTree> EvaluationWitness::log(uint64_t) { return unavailable("an evaluation has no rounding log"); }
Expected<std::optional<runtime::EntryPlace>> EvaluationWitness::illegal_entry(uint64_t) {
  return unavailable("an evaluation has no rounding log");
}

}  // namespace isobit::run
