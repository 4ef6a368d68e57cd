// Trains the first steps of a job and writes everything another program needs to train them again.
//
//   training_dump JOB.toml PLATFORM STEPS OUT.safetensors [gradients]
//
// OUT holds "initial/NAME" and "final/NAME" for every piece of training state, "input/T" and "labels/T" (the batch of
// step T, from 1; of several inputs the others as "NAME/T"), "losses" (float32) and "rates" (float64), one a step. With
// `gradients` also "float64/loss" and "float64/grad/NAME" of the first step, computed in float64 throughout.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/network.h"
#include "isobit/runtime/executor.h"
#include "isobit/train/trainer.h"

namespace isobit {
namespace {

void keep_state(const train::Trainer& trainer, const char* prefix, std::vector<NamedTensor>& out) {
  for (const NamedTensor& t : trainer.state()) out.push_back({text_of(prefix, t.name), t.tensor.clone()});
}

struct Material {
  train::Job job;
  std::shared_ptr<const data::Dataset> dataset;
  std::shared_ptr<const models::Network> network;
};

// A step of plain gradient descent w' = w - rate * gradient, of so large a rate that (w - w') / rate is the gradient to
// the last bits of a float64: the graph is that of the job's training, and no other is built for this.
Status keep_gradients(Material of, platform::Engine& engine, std::vector<NamedTensor>& out) {
  constexpr double kRate = 0x1p60;
  train::Job& job = of.job;
  job.arithmetic = "float64";
  job.optimizer = train::Optimizer::kSgd;
  job.momentum = job.weight_decay = job.clip_norm = 0;
  job.nesterov = false;
  job.groups = {};
  ISOBIT_TRY(auto trainer, train::Trainer::create(job, of.dataset, engine, backends::native(), of.network));
  ISOBIT_TRY(train::StepInputs inputs, trainer->inputs());
  inputs.lr = kRate;
  const train::StepGraph& step = trainer->step_graph();
  runtime::Executor::Feeds feeds = trainer->feeds_of(inputs);
  for (size_t i = 0; i < step.slots.size(); ++i)
    feeds.emplace_back(step.slots[i].in, trainer->state()[i].tensor.clone());
  for (size_t i = 0; i < step.frozen.size(); ++i) feeds.emplace_back(step.frozen[i].in, trainer->frozen()[i].tensor);
  runtime::Executor executor(step.graph);
  ISOBIT_RETURN_IF_ERROR(executor.status());
  ISOBIT_TRY(std::vector<Tensor> results, executor.run(trainer->context().kernels(), std::move(feeds)));
  out.push_back({"float64/loss", results[0].clone()});
  for (size_t i = 0; i < step.slots.size(); ++i) {
    if (step.slots[i].parameter < 0) continue;
    Tensor gradient = results[i + 1].clone();
    const double* before = trainer->state()[i].tensor.data<double>();
    double* values = gradient.data<double>();
    for (int64_t e = 0; e < gradient.elements(); ++e) values[e] = (before[e] - values[e]) / kRate;
    out.push_back({text_of("float64/grad/", step.slots[i].name), std::move(gradient)});
  }
  return {};
}

Status dump(const std::vector<std::string>& args) {
  const bool gradients = args.size() == 5 && args[4] == "gradients";
  if (args.size() != 4 && !gradients) {
    return usage_error("usage: training_dump JOB.toml PLATFORM STEPS OUT.safetensors [gradients]");
  }
  ISOBIT_TRY(train::Job job, train::load_job(args[0]));
  ISOBIT_TRY(const platform::Platform platform, platform::parse_platform(args[1]));
  const int64_t steps = std::min<int64_t>(std::atoll(args[2].c_str()), job.steps);
  ISOBIT_TRY(std::shared_ptr<const data::Dataset> dataset, data::open_dataset(job.data));
  ISOBIT_TRY(const auto network, run::open_network(job, run::Limits{}));
  platform::Engine engine(platform);
  formats::Safetensors out;
  if (gradients) ISOBIT_RETURN_IF_ERROR(keep_gradients({job, dataset, network}, engine, out.tensors));

  ISOBIT_TRY(auto trainer, train::Trainer::create(std::move(job), dataset, engine, backends::native(), network));
  keep_state(*trainer, "initial/", out.tensors);
  std::vector<float> losses;
  std::vector<double> rates;
  while (trainer->step() < steps) {
    ISOBIT_TRY(train::StepInputs inputs, trainer->inputs());
    for (size_t i = 0; i < inputs.batch.inputs.size(); ++i) {
      const std::string name = i == 0 ? "input/" : text_of(dataset->inputs()[i].name, "/");
      out.tensors.push_back({text_of(name, trainer->step() + 1), inputs.batch.inputs[i].clone()});
    }
    if (inputs.batch.target.defined()) {
      out.tensors.push_back({text_of("labels/", trainer->step() + 1), inputs.batch.target.clone()});
    }
    ISOBIT_TRY(const train::StepResult result, trainer->advance(std::move(inputs), {}));
    losses.push_back(result.loss);
    rates.push_back(result.lr);
  }
  keep_state(*trainer, "final/", out.tensors);
  out.tensors.push_back({"losses", Tensor::of<float>({steps}, losses)});
  out.tensors.push_back({"rates", Tensor::of<double>({steps}, rates)});
  return formats::write_safetensors(args[3], out);
}

}  // namespace
}  // namespace isobit

int main(int argc, char** argv) {
  const isobit::Status status = isobit::dump({argv + 1, argv + argc});
  if (status) return 0;
  std::fprintf(stderr, "training_dump: %s\n", status.error().message.c_str());
  return static_cast<int>(status.error().code);
}
