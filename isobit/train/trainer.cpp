#include "isobit/train/trainer.h"

#include <algorithm>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/graph/passes/rebuild.h"
#include "isobit/kernels/optimizer/optimizer.h"
#include "isobit/train/initial.h"

namespace isobit::train {

using graph::kNoValue;

Expected<std::unique_ptr<Trainer>> Trainer::create(Job job, std::shared_ptr<const data::Dataset> dataset,
                                                   platform::Engine& engine, backends::Backend& backend,
                                                   std::shared_ptr<const models::Network> network,
                                                   runtime::Recompute recompute) {
  if (dataset->train_count() < 1) return unreadable(text_of("dataset '", dataset->name(), "' has no training samples"));
  ISOBIT_TRY(const platform::Arithmetic* arithmetic, platform::named_arithmetic(job.arithmetic));
  ISOBIT_RETURN_IF_ERROR(runtime::check_recompute(recompute, *arithmetic));
  ISOBIT_TRY(platform::Context context, engine.context_for(*arithmetic));
  ISOBIT_TRY(const data::AugmentOptions augment, data::parse_augment(job.data.augment));
  ISOBIT_TRY(StepGraph graph, build_step_graph(job, *dataset, *network));
  ISOBIT_TRY(InitialValues initial, initial_values(job, graph, *network));
  std::unique_ptr<Trainer> trainer(
      new Trainer(std::move(job), std::move(dataset), engine, backend, std::move(context), std::move(graph)));
  trainer->network_ = std::move(network);
  trainer->recompute_ = recompute;
  trainer->batch_options_ = {trainer->job_.seed, trainer->job_.batch, augment};
  trainer->state_ = std::move(initial.state);
  trainer->frozen_ = std::move(initial.frozen);
  ISOBIT_RETURN_IF_ERROR(trainer->compile());
  trainer->prepare_feeds();
  return trainer;
}

Trainer::Trainer(Job job, std::shared_ptr<const data::Dataset> dataset, platform::Engine& engine,
                 backends::Backend& backend, platform::Context context, StepGraph graph)
    : job_(std::move(job)),
      dataset_(std::move(dataset)),
      engine_(engine),
      backend_(backend),
      context_(std::move(context)),
      graph_(std::move(graph)) {
  if (arithmetic_of(job_).rounds)
    rounding_ = std::make_unique<runtime::RoundingStage>(static_cast<int>(job_.rounding.bits));
}

namespace {

float as_float(const Tensor& scalar) {
  return scalar.dtype() == DType::kFloat64 ? static_cast<float>(scalar.data<double>()[0]) : scalar.data<float>()[0];
}

}  // namespace

// What is frozen is a constant of the program, which no operator writes over; the step graph has it as an input, so
// that it says no more than names and shapes.
Status Trainer::compile() {
  if (!frozen_.empty()) {
    const auto& inputs = graph_.graph.inputs();
    std::vector<const Tensor*> known(inputs.size(), nullptr);
    for (size_t i = 0; i < frozen_.size(); ++i) {
      const auto place = std::ranges::find(inputs, graph_.frozen[i].in) - inputs.begin();
      known[static_cast<size_t>(place)] = &frozen_[i].tensor;
    }
    graph::Rebuilding rule;
    rule.input = [&](size_t i) -> Expected<graph::InferContext::Type> {
      const graph::Value& value = graph_.graph.value(inputs[i]);
      return graph::InferContext::Type{value.dtype, value.dims};
    };
    rule.known_input = [&](size_t i) { return known[i]; };
    ISOBIT_TRY(bound_, graph::rebuild(graph_.graph, rule));
  }
  runtime::Limits limits;
  limits.recomputation = {recompute_, graph_.losses};
  ISOBIT_TRY(program_, backend_.compile(frozen_.empty() ? graph_.graph : bound_, context_, limits));
  return {};
}

// Every feed with its place, and tensors for those that are scalars.
void Trainer::prepare_feeds() {
  for (const graph::ValueId input : graph_.inputs) feeds_.emplace_back(input, Tensor());
  if (graph_.target != kNoValue) {
    const graph::Value& target = graph_.graph.value(graph_.target);
    feeds_.emplace_back(graph_.target, Tensor::without_storage(target.dtype, target.shape()));
  }
  first_scalar_ = feeds_.size();
  feeds_.emplace_back(graph_.lr, Tensor::scalar(0.0));
  if (graph_.step != kNoValue) feeds_.emplace_back(graph_.step, Tensor::scalar(int64_t{0}));
  if (graph_.beta1_power != kNoValue) {
    feeds_.emplace_back(graph_.beta1_power, Tensor::scalar(0.0));
    feeds_.emplace_back(graph_.beta2_power, Tensor::scalar(0.0));
  }
  first_state_ = feeds_.size();
  for (const StateSlot& slot : graph_.slots) feeds_.emplace_back(slot.in, Tensor());
  outputs_.resize(1 + graph_.slots.size());
}

void Trainer::feed_batch() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    feeds_[i].second = in_type(graph_.graph.value(graph_.inputs[i]).dtype, std::move(batch_.inputs[i]));
  }
  if (graph_.target == kNoValue) return;
  // Rows, where the batch has samples of several tokens.
  Tensor& target = feeds_[graph_.inputs.size()].second;
  if (batch_.target.dtype() == target.dtype()) {
    target.share_storage(batch_.target);
  } else {
    target.share_storage(in_type(target.dtype(), batch_.target));
  }
}

void Trainer::put_rates(double lr, std::span<runtime::Executor::Feed> rates) const {
  size_t next = 0;
  rates[next++].second.data<double>()[0] = lr;
  if (graph_.step != kNoValue) rates[next++].second.data<int64_t>()[0] = step_;
  if (graph_.beta1_power != kNoValue) {
    rates[next++].second.data<double>()[0] = beta1_power_ * job_.beta1;
    rates[next++].second.data<double>()[0] = beta2_power_ * job_.beta2;
  }
}

runtime::Executor::Feeds Trainer::feeds_of(const StepInputs& inputs) const {
  runtime::Executor::Feeds feeds;
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    feeds.emplace_back(graph_.inputs[i], in_type(graph_.graph.value(graph_.inputs[i]).dtype, inputs.batch.inputs[i]));
  }
  if (graph_.target != kNoValue) {
    const graph::Value& value = graph_.graph.value(graph_.target);
    Tensor target = Tensor::without_storage(value.dtype, value.shape());
    target.share_storage(in_type(value.dtype, inputs.batch.target));
    feeds.emplace_back(graph_.target, std::move(target));
  }
  const size_t first = feeds.size();
  for (size_t i = first_scalar_; i < first_state_; ++i) feeds.emplace_back(feeds_[i].first, feeds_[i].second.clone());
  put_rates(inputs.lr, std::span(feeds).subspan(first));
  return feeds;
}

void Trainer::feed(double lr) {
  feed_batch();
  put_rates(lr, std::span(feeds_).subspan(first_scalar_));
  // Handed over, not copied: the optimizer then works in place.
  for (size_t i = 0; i < state_.size(); ++i) feeds_[first_state_ + i].second = std::move(state_[i].tensor);
}

// The step is done: the state, and what the next batch can be written to.
void Trainer::take_back() {
  for (size_t i = 0; i < state_.size(); ++i) state_[i].tensor = std::move(outputs_[i + 1]);
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    Tensor& input = batch_.inputs[i];
    input = std::move(feeds_[i].second);
    if (input.dtype() != dataset_->inputs()[i].dtype) input = Tensor();
  }
  if (graph_.target != kNoValue) feeds_[graph_.inputs.size()].second.drop_storage();
}

Expected<StepInputs> Trainer::inputs() const {
  ISOBIT_CHECK(step_ < job_.steps);
  ISOBIT_TRY(data::Batch batch, data::train_batch(*dataset_, batch_options_, step_, engine_.pool()));
  return StepInputs{std::move(batch), learning_rate(job_, step_)};
}

Expected<StepResult> Trainer::advance(runtime::RunOptions options) {
  ISOBIT_CHECK(step_ < job_.steps);
  ISOBIT_RETURN_IF_ERROR(data::train_batch_into(*dataset_, batch_options_, step_, engine_.pool(), batch_));
  return step_on_batch(learning_rate(job_, step_), options);
}

Expected<StepResult> Trainer::advance(StepInputs inputs, runtime::RunOptions options) {
  batch_ = std::move(inputs.batch);
  return step_on_batch(inputs.lr, options);
}

Expected<StepResult> Trainer::step_on_batch(double lr, runtime::RunOptions options) {
  ISOBIT_CHECK(step_ < job_.steps);
  if (options.stage == nullptr) options.stage = rounding_.get();
  ++revision_;
  feed(lr);
  ISOBIT_RETURN_IF_ERROR(program_->run(feeds_, outputs_, options));
  take_back();
  ++step_;
  beta1_power_ *= job_.beta1;
  beta2_power_ *= job_.beta2;
  return StepResult{step_, batch_.indices, as_float(outputs_[0]), lr};
}

Status Trainer::check_step(int64_t step) const {
  if (step >= 0 && step <= job_.steps) return {};
  return unreadable(text_of("checkpoint: found step ", step, ", the job has steps 0 to ", job_.steps));
}

Status Trainer::check_fits(size_t slot, DType dtype, const Shape& shape) const {
  const graph::Value& value = graph_.graph.value(graph_.slots[slot].in);
  if (dtype == value.dtype && shape == value.shape()) return {};
  return unreadable(text_of("checkpoint: tensor '", state_[slot].name, "' is ", name_of(dtype), " ", shape.text(),
                            ", expected ", name_of(value.dtype), " ", value.shape().text()));
}

void Trainer::stand_after(int64_t step) {
  ++revision_;
  step_ = step;
  beta1_power_ = kernels::beta_power(job_.beta1, step);
  beta2_power_ = kernels::beta_power(job_.beta2, step);
}

Status Trainer::restore(std::vector<NamedTensor> state, int64_t step) {
  ISOBIT_RETURN_IF_ERROR(check_step(step));
  if (state.size() != state_.size()) {
    return unreadable(text_of("checkpoint: found ", state.size(), " tensors, the job has ", state_.size()));
  }
  std::vector<NamedTensor> ordered;
  for (const NamedTensor& wanted : state_) {
    const auto found = std::ranges::find(state, wanted.name, &NamedTensor::name);
    if (found == state.end()) return unreadable(text_of("checkpoint: tensor '", wanted.name, "' is missing"));
    ISOBIT_RETURN_IF_ERROR(check_fits(ordered.size(), found->tensor.dtype(), found->tensor.shape()));
    ordered.push_back(std::move(*found));
  }
  state_ = std::move(ordered);
  stand_after(step);
  return {};
}

Expected<size_t> Trainer::wants(const std::string& name, DType dtype, const Shape& shape) const {
  const auto own = std::ranges::find(state_, name, &NamedTensor::name);
  if (own == state_.end()) return unreadable(text_of("checkpoint: tensor '", name, "' is none of the job's state"));
  const auto slot = static_cast<size_t>(own - state_.begin());
  ISOBIT_RETURN_IF_ERROR(check_fits(slot, dtype, shape));
  return slot;
}

Status Trainer::put(NamedTensor tensor) {
  std::vector<bool> put = std::exchange(put_, {});
  ISOBIT_TRY(const size_t slot, wants(tensor.name, tensor.tensor.dtype(), tensor.tensor.shape()));
  put.resize(state_.size());
  if (put[slot]) return unreadable(text_of("checkpoint: tensor '", tensor.name, "' comes twice"));
  ++revision_;
  state_[slot].tensor = std::move(tensor.tensor);
  put[slot] = true;
  put_ = std::move(put);
  return {};
}

Status Trainer::go_on_from(int64_t step) {
  std::vector<bool> put = std::exchange(put_, {});
  ISOBIT_RETURN_IF_ERROR(check_step(step));
  put.resize(state_.size());
  if (const auto missing = std::ranges::find(put, false); missing != put.end()) {
    return unreadable(
        text_of("checkpoint: tensor '", state_[static_cast<size_t>(missing - put.begin())].name, "' is missing"));
  }
  stand_after(step);
  return {};
}

Expected<SampleScores> Trainer::evaluate() {
  std::vector<NamedTensor> all = state_;
  all.insert(all.end(), frozen_.begin(), frozen_.end());
  return train::evaluate(job_, *dataset_, all, engine_, backend_, *network_);
}

}  // namespace isobit::train
