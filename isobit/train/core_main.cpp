// The core alone, for machines and emulators without the foreign libraries: trains some steps of a job and writes the
// state, so that another machine can compare bytes and compute roots.
//
//   isobit_core JOB.toml [--steps N] [--platform P] [--set TABLE.KEY=VALUE] --out STATE.safetensors
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"
#include "isobit/train/trainer.h"

namespace isobit {
namespace {

struct Arguments {
  std::string job, out, platform = "ordered";
  int64_t steps = -1;
  std::vector<std::string> overrides;
};

Expected<Arguments> parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool option = arg.rfind("--", 0) == 0;
    if (option && i + 1 == argc) return usage_error(text_of(arg, ": needs a value"));
    if (!option)
      a.job = arg;
    else if (arg == "--steps")
      a.steps = std::atoll(argv[++i]);
    else if (arg == "--platform")
      a.platform = argv[++i];
    else if (arg == "--out")
      a.out = argv[++i];
    else if (arg == "--set")
      a.overrides.push_back(argv[++i]);
    else
      return usage_error(text_of(arg, ": not known"));
  }
  if (a.job.empty() || a.out.empty()) {
    return usage_error("usage: isobit_core JOB.toml [--steps N] [--platform P] [--set TABLE.KEY=VALUE] --out FILE");
  }
  return a;
}

Status run(int argc, char** argv) {
  ISOBIT_TRY(const Arguments a, parse(argc, argv));
  ISOBIT_TRY(train::Job job, train::load_job(a.job, a.overrides));
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(a.platform));
  ISOBIT_TRY(std::shared_ptr<const data::Dataset> dataset, data::open_dataset(job.data));
  ISOBIT_TRY(job, train::in_steps(std::move(job), dataset->train_count()));
  platform::Engine engine(p);
  const int64_t steps = a.steps < 0 || a.steps > job.steps ? job.steps : a.steps;
  ISOBIT_TRY(auto trainer, train::Trainer::create(std::move(job), dataset, engine));
  float loss = 0;
  while (trainer->step() < steps) {
    ISOBIT_TRY(const train::StepResult result, trainer->advance());
    loss = result.loss;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, &loss, sizeof bits);
  const formats::Safetensors file{trainer->state(), {{"step", text_of(trainer->step())}}};
  ISOBIT_RETURN_IF_ERROR(formats::write_safetensors(a.out, file));
  std::printf("steps %lld loss_bits 0x%08x\n", static_cast<long long>(steps), bits);
  return {};
}

}  // namespace
}  // namespace isobit

int main(int argc, char** argv) {
  const isobit::Status status = isobit::run(argc, argv);
  if (status) return 0;
  std::fprintf(stderr, "isobit_core: %s\n", status.error().message.c_str());
  return static_cast<int>(status.error().code);
}
