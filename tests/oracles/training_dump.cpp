// Trains the first steps of a job and writes everything another program needs to train them again.
//
//   training_dump JOB.toml PLATFORM STEPS OUT.safetensors
//
// OUT holds "initial/NAME" and "final/NAME" for every piece of training state, "input/T" and "labels/T" (the batch of
// step T, from 1; of several inputs the others as "NAME/T"), "losses" (float32) and "rates" (float64), one a step.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"
#include "isobit/train/trainer.h"

namespace isobit {
namespace {

void keep_state(const train::Trainer& trainer, const char* prefix, std::vector<NamedTensor>& out) {
  for (const NamedTensor& t : trainer.state()) out.push_back({text_of(prefix, t.name), t.tensor.clone()});
}

Status run(const std::vector<std::string>& args) {
  if (args.size() != 4) return usage_error("usage: training_dump JOB.toml PLATFORM STEPS OUT.safetensors");
  ISOBIT_TRY(train::Job job, train::load_job(args[0]));
  ISOBIT_TRY(const platform::Platform platform, platform::parse_platform(args[1]));
  const int64_t steps = std::min<int64_t>(std::atoll(args[2].c_str()), job.steps);
  ISOBIT_TRY(std::shared_ptr<const data::Dataset> dataset, data::open_dataset(job.data));
  platform::Engine engine(platform);
  ISOBIT_TRY(auto trainer, train::Trainer::create(std::move(job), dataset, engine));

  formats::Safetensors out;
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
  const isobit::Status status = isobit::run({argv + 1, argv + argc});
  if (status) return 0;
  std::fprintf(stderr, "training_dump: %s\n", status.error().message.c_str());
  return static_cast<int>(status.error().code);
}
