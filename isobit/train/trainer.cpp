#include "isobit/train/trainer.h"

#include <algorithm>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/kernels/optimizer/optimizer.h"
#include "isobit/numerics/philox.h"

namespace isobit::train {

using graph::kNoValue;

Expected<std::unique_ptr<Trainer>> Trainer::create(Job job, std::shared_ptr<const data::Dataset> dataset,
                                                   platform::Engine& engine) {
  if (dataset->train_count() < 1) return unreadable(text_of("dataset '", dataset->name(), "' has no training samples"));
  ISOBIT_RETURN_IF_ERROR(engine.use_arithmetic(job.arithmetic));
  ISOBIT_TRY(const data::AugmentOptions augment, data::parse_augment(job.data.augment));
  ISOBIT_TRY(StepGraph graph, build_step_graph(job, *dataset));
  std::unique_ptr<Trainer> trainer(new Trainer(std::move(job), std::move(dataset), engine, std::move(graph)));
  trainer->batch_options_ = {trainer->job_.seed, trainer->job_.batch, augment};
  trainer->initialise();
  return trainer;
}

Trainer::Trainer(Job job, std::shared_ptr<const data::Dataset> dataset, platform::Engine& engine, StepGraph graph)
    : job_(std::move(job)),
      dataset_(std::move(dataset)),
      engine_(engine),
      graph_(std::move(graph)),
      executor_(graph_.graph) {
  if (arithmetic_of(job_).rounds)
    rounding_ = std::make_unique<runtime::RoundingStage>(static_cast<int>(job_.rounding.bits));
}

namespace {

// The same values in float64, unless they are no float32 values or float32 is what is wanted.
Tensor in_type(DType wanted, Tensor tensor) {
  if (tensor.dtype() != DType::kFloat32 || wanted != DType::kFloat64) return tensor;
  Tensor wide(DType::kFloat64, tensor.shape());
  const auto from = tensor.span<float>();
  const auto to = wide.span<double>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<double>(from[i]);
  return wide;
}

float as_float(const Tensor& scalar) {
  return scalar.dtype() == DType::kFloat64 ? static_cast<float>(scalar.data<double>()[0]) : scalar.data<float>()[0];
}

}  // namespace

void Trainer::initialise() {
  for (const StateSlot& slot : graph_.slots) {
    Tensor tensor(DType::kFloat32, graph_.graph.value(slot.in).shape());
    float* data = tensor.data<float>();
    const int64_t n = tensor.elements();
    const numerics::Stream stream{job_.seed, numerics::Purpose::kInitialWeights, static_cast<uint32_t>(slot.parameter)};
    switch (slot.init.kind) {
      case models::Init::Kind::kConstant:
        std::fill(data, data + n, slot.init.a);
        break;
      case models::Init::Kind::kUniform:
        numerics::fill_uniform_f32(stream, 0, data, n);
        for (int64_t i = 0; i < n; ++i) data[i] = (2.0f * data[i] - 1.0f) * slot.init.a;
        break;
      case models::Init::Kind::kNormal:
        numerics::fill_normal_f32(stream, 0, data, n);
        for (int64_t i = 0; i < n; ++i) data[i] *= slot.init.a;
        break;
    }
    state_.push_back({slot.name, in_type(graph_.graph.value(slot.in).dtype, std::move(tensor))});
  }
}

runtime::Executor::Feeds Trainer::feeds(data::Batch batch, double lr) {
  runtime::Executor::Feeds feeds;
  feeds.emplace_back(graph_.input, in_type(graph_.graph.value(graph_.input).dtype, std::move(batch.input)));
  feeds.emplace_back(graph_.labels, batch.labels.reshaped(graph_.graph.value(graph_.labels).shape()));
  batch.labels = Tensor();  // the feed is the only one that holds them
  feeds.emplace_back(graph_.lr, Tensor::scalar(lr));
  if (graph_.step != kNoValue) feeds.emplace_back(graph_.step, Tensor::scalar(step_));
  if (graph_.beta1_power != kNoValue) {
    feeds.emplace_back(graph_.beta1_power, Tensor::scalar(beta1_power_ * job_.beta1));
    feeds.emplace_back(graph_.beta2_power, Tensor::scalar(beta2_power_ * job_.beta2));
  }
  // Handed over, not copied: the optimizer then works in place.
  for (size_t i = 0; i < state_.size(); ++i) feeds.emplace_back(graph_.slots[i].in, std::move(state_[i].tensor));
  return feeds;
}

StepInputs Trainer::inputs() const {
  ISOBIT_CHECK(step_ < job_.steps);
  return {data::train_batch(*dataset_, batch_options_, step_, engine_.pool()), learning_rate(job_, step_)};
}

Expected<StepResult> Trainer::advance(runtime::RunOptions options) { return advance(inputs(), options); }

Expected<StepResult> Trainer::advance(StepInputs inputs, runtime::RunOptions options) {
  ISOBIT_CHECK(step_ < job_.steps);
  if (options.stage == nullptr) options.stage = rounding_.get();
  StepResult result{step_ + 1, inputs.batch.indices, 0, inputs.lr};
  ++revision_;
  ISOBIT_TRY(std::vector<Tensor> outputs,
             executor_.run(engine_.context(), feeds(std::move(inputs.batch), inputs.lr), options));
  result.loss = as_float(outputs[0]);
  for (size_t i = 0; i < state_.size(); ++i) state_[i].tensor = std::move(outputs[i + 1]);
  ++step_;
  beta1_power_ *= job_.beta1;
  beta2_power_ *= job_.beta2;
  return result;
}

Status Trainer::check_step(int64_t step) const {
  if (step >= 0 && step <= job_.steps) return {};
  return unreadable(text_of("checkpoint: found step ", step, ", the job has steps 0 to ", job_.steps));
}

Status Trainer::check_fits(size_t slot, const NamedTensor& found) const {
  const graph::Value& value = graph_.graph.value(graph_.slots[slot].in);
  if (found.tensor.dtype() == value.dtype && found.tensor.shape() == value.shape()) return {};
  return unreadable(text_of("checkpoint: tensor '", found.name, "' is ", name_of(found.tensor.dtype()), " ",
                            found.tensor.shape().text(), ", expected ", name_of(value.dtype), " ",
                            value.shape().text()));
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
    ISOBIT_RETURN_IF_ERROR(check_fits(ordered.size(), *found));
    ordered.push_back(std::move(*found));
  }
  state_ = std::move(ordered);
  stand_after(step);
  return {};
}

Status Trainer::put(NamedTensor tensor) {
  const auto own = std::ranges::find(state_, tensor.name, &NamedTensor::name);
  if (own == state_.end()) {
    return unreadable(text_of("checkpoint: tensor '", tensor.name, "' is none of the job's state"));
  }
  const auto slot = static_cast<size_t>(own - state_.begin());
  put_.resize(state_.size());
  if (put_[slot]) return unreadable(text_of("checkpoint: tensor '", tensor.name, "' comes twice"));
  ISOBIT_RETURN_IF_ERROR(check_fits(slot, tensor));
  ++revision_;
  own->tensor = std::move(tensor.tensor);
  put_[slot] = true;
  return {};
}

Status Trainer::go_on_from(int64_t step) {
  ISOBIT_RETURN_IF_ERROR(check_step(step));
  std::vector<bool> put = std::exchange(put_, {});
  put.resize(state_.size());
  if (const auto missing = std::ranges::find(put, false); missing != put.end()) {
    return unreadable(
        text_of("checkpoint: tensor '", state_[static_cast<size_t>(missing - put.begin())].name, "' is missing"));
  }
  stand_after(step);
  return {};
}

Expected<Evaluation> Trainer::evaluate() { return train::evaluate(job_, *dataset_, state_, engine_); }

}  // namespace isobit::train
