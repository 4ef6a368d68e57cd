#include "isobit/adversary/run_cheat.h"

#include <algorithm>

#include "isobit/adversary/decorators.h"
#include "isobit/run/job_root.h"
#include "isobit/train/metrics.h"

namespace isobit::adversary {
namespace {

// The same job with another seed, as far as it has come without a step.
struct OtherRun {
  explicit OtherRun(const platform::Platform& platform) : engine(platform) {}
  platform::Engine engine;
  run::Session session;
};
Expected<std::shared_ptr<OtherRun>> other_run(train::Job job, const platform::Platform& platform) {
  job.seed += 1;
  auto other = std::make_shared<OtherRun>(platform);
  ISOBIT_TRY(other->session, run::open_session(job, other->engine));
  return other;
}

Status begin_with_other_weights(run::TrainRequest& request, int64_t) {
  request.conduct.begin = [job = request.job, platform = request.platform](train::Trainer& trainer) -> Status {
    ISOBIT_TRY(const auto other, other_run(job, platform));
    std::vector<NamedTensor> state = other->session.trainer->state();
    for (NamedTensor& t : state) t.tensor = t.tensor.clone();
    return trainer.restore(std::move(state), 0);
  };
  return {};
}

// Of a run with another seed up to `last`: its batches, in its order.
Status take_prefix_of_another_run(run::TrainRequest& request, int64_t last) {
  const auto other = std::make_shared<std::shared_ptr<OtherRun>>();
  const auto others = [other, job = request.job,
                       platform = request.platform](train::Trainer& trainer) -> Expected<train::StepInputs> {
    if (!*other) {
      ISOBIT_TRY(*other, other_run(job, platform));
    }
    ISOBIT_TRY(train::StepInputs inputs, inputs_of_step(*(*other)->session.trainer, trainer.step() + 1));
    return inputs;
  };
  request.conduct.step = with_other_inputs([last](int64_t t) { return t <= last; }, others, request.conduct.step);
  return {};
}

Status repeat_step(run::TrainRequest& request, int64_t step) {
  if (step < 2) return usage_error("step 1 has no step before it; choose a later --at");
  const auto before = [](train::Trainer& trainer) { return inputs_of_step(trainer, trainer.step()); };
  request.conduct.step = with_other_inputs([step](int64_t t) { return t == step; }, before, request.conduct.step);
  return {};
}

// Every sample from back to front: as good as any other data of the same shape.
void turn_rows(Tensor& tensor, size_t rows) {
  const size_t size = size_of(tensor.dtype()), row = tensor.bytes() / rows;
  auto* bytes = static_cast<uint8_t*>(tensor.raw());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0, j = row / size - 1; i < j; ++i, --j) {
      std::swap_ranges(bytes + r * row + i * size, bytes + r * row + (i + 1) * size, bytes + r * row + j * size);
    }
  }
}

// The samples that are reported, and committed to, are the job's.
Status take_another_dataset(run::TrainRequest& request, int64_t first) {
  const auto turned = [](train::Trainer& trainer) -> Expected<train::StepInputs> {
    ISOBIT_TRY(train::StepInputs inputs, trainer.inputs());
    for (Tensor& input : inputs.batch.inputs) {
      if (input.bytes() > 0) turn_rows(input, inputs.batch.indices.size());
    }
    return inputs;
  };
  request.conduct.step = with_other_inputs([first](int64_t t) { return t >= first; }, turned, request.conduct.step);
  return {};
}

// Every hit scored, every error none. Exact sums, as of samples that did so.
void make_perfect(train::SampleScores& scores) {
  for (size_t i = 0; i < scores.sums.size(); ++i) {
    train::MetricSum& s = scores.sums[i];
    s.sum = {};
    const bool hits = train::is_share(scores.metrics[i % scores.metrics.size()]);
    for (uint64_t n = 0; hits && n < s.count; ++n) s.sum.add(1);
  }
}

Status inflate_evaluation(run::TrainRequest& request, int64_t) {
  request.conduct.evaluate = with_scores(make_perfect, request.conduct.evaluate);
  return {};
}

}  // namespace

const std::vector<Cheat>& run_cheats() {
  static const std::vector<Cheat> kCheats = {
      {"initial", "the weights of another seed to begin with, and committed as the first state",
       begin_with_other_weights},
      {"prefix", "the steps up to this one on the batches of a run with another seed, and committed as such",
       take_prefix_of_another_run},
      {"repeat", "the step before taken once more in place of this one, and committed as such", repeat_step},
      {"dataset", "other data than the job's from this step on, the job's committed", take_another_dataset},
      {"inflate", "an evaluation in which every sample is right", inflate_evaluation},
  };
  return kCheats;
}

}  // namespace isobit::adversary
