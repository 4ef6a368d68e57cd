#include "isobit/lab/probe.h"

#include "isobit/run/job_root.h"

namespace isobit::lab {

namespace {

constexpr char kProbeJob[] = R"(
[job]
name = "probe"
seed = 7
steps = 2
[model]
builder = "resnet"
width = 8
[data]
dataset = "digits"
batch = 16
augment = ["crop", "flip"]
[optimizer]
name = "adamw"
lr = 0.01
weight_decay = 0.1
clip_norm = 1.0
)";

}  // namespace

Expected<commit::Digest> probe(const platform::Platform& platform) {
  ISOBIT_TRY(const train::Job job, train::parse_job(kProbeJob, "probe", ""));
  ISOBIT_TRY(std::shared_ptr<const data::Dataset> dataset, data::open_dataset(job.data));
  platform::Engine engine(platform);
  ISOBIT_TRY(const auto trainer, train::Trainer::create(job, dataset, engine));
  while (trainer->step() < job.steps) ISOBIT_RETURN_IF_ERROR(trainer->advance().map([](auto&&) {}));
  return run::state_digest(*trainer, engine.pool());
}

}  // namespace isobit::lab
