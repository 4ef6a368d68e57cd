#include "isobit/run/price.h"

#include <algorithm>
#include <cmath>

#include "isobit/bundle/log_file.h"
#include "isobit/run/job_root.h"
#include "isobit/run/step_logs.h"

namespace isobit::run {

namespace {

constexpr double kMostHashing = 0.02;
constexpr uint64_t kLeafBytes = 160, kHeadBytes = 240;  // on disk, rounded up

template <class T>
T median(std::vector<T> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<int64_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Checkpoints that lie on disk at the end; one more exists while the newest is being written.
uint64_t checkpoints_kept(const train::Job& job) {
  const int64_t made = 1 + (job.checkpoint_every > 0 ? (job.steps - 1) / job.checkpoint_every : 0);
  return static_cast<uint64_t>(std::min(made, job.checkpoint_keep + 1));
}

// One step as train_run makes it, and the bytes of its log on disk; 0 without a log.
Expected<uint64_t> one_step(train::Trainer& trainer, StepLogWriter* log, runtime::MemoryUse& memory) {
  if (log == nullptr) {
    ISOBIT_RETURN_IF_ERROR(trainer.advance({.memory = &memory}).map([](auto&&) {}));
    return 0;
  }
  runtime::Stage& stage = log->begin(static_cast<uint64_t>(trainer.step()) + 1);
  ISOBIT_RETURN_IF_ERROR(trainer.advance({.stage = &stage, .memory = &memory}).map([](auto&&) {}));
  ISOBIT_TRY(const WrittenSegment written, log->end());
  return written.bytes.size() + bundle::kRecordOverhead;
}

}  // namespace

Expected<Price> price_job(const train::Job& job, const platform::Platform& platform, const Limits& limits,
                          const std::function<double()>& seconds) {
  platform::Engine engine(platform);
  ISOBIT_TRY(Session session, open_session(job, engine, limits));
  train::Trainer& trainer = *session.trainer;
  Price price;
  price.data = data::shape_of(*session.dataset);
  ISOBIT_TRY(price.size, job_size(job, price.data, *session.network, limits.recompute));
  std::unique_ptr<StepLogWriter> log;
  if (arithmetic_of(job).logs) log = make_step_log_writer(job, trainer.step_graph());
  std::vector<double> steps, commits;
  std::vector<uint64_t> logged;
  runtime::MemoryUse memory;
  const int64_t most = std::min<int64_t>(job.steps, 6);
  const double begin = seconds();
  // The first step warms caches and is not counted, unless it is the only one.
  for (int64_t i = 0; i < most && (i < 2 || seconds() - begin < 20); ++i) {
    const double before = seconds();
    ISOBIT_TRY(const uint64_t log_bytes, one_step(trainer, log.get(), memory));
    const double between = seconds();
    ISOBIT_RETURN_IF_ERROR(state_digest(trainer, engine.pool()).map([](auto&&) {}));
    if (i > 0 || most == 1) {
      steps.push_back(between - before);
      commits.push_back(seconds() - between);
      logged.push_back(log_bytes);
    }
  }
  price.seconds_per_step = median(steps);
  price.seconds_per_commit = median(commits);
  price.proposed_commit_every = std::max<int64_t>(
      1, static_cast<int64_t>(std::ceil(price.seconds_per_commit / (kMostHashing * price.seconds_per_step))));
  const auto commit_count = static_cast<double>(job.steps / job.commit_every);
  price.seconds = static_cast<double>(job.steps) * price.seconds_per_step + commit_count * price.seconds_per_commit;
  for (const NamedTensor& t : trainer.state()) price.state_bytes += t.tensor.bytes();
  price.memory_bytes = memory.peak_bytes + price.data.bytes;
  price.disk_bytes = checkpoints_kept(job) * price.state_bytes + static_cast<uint64_t>(job.steps) * kLeafBytes +
                     static_cast<uint64_t>(commit_count) * kHeadBytes;
  if (log) {
    price.log_bytes_per_step = median(logged);
    price.disk_bytes += static_cast<uint64_t>(job.steps) * *price.log_bytes_per_step;
  }
  for (const train::StateSlot& slot : trainer.step_graph().slots) {
    if (slot.parameter >= 0) price.parameters += trainer.step_graph().graph.value(slot.in).shape().elements();
  }
  price.nodes = static_cast<int64_t>(trainer.step_graph().graph.nodes().size());
  price.disputable = trainer.step_graph().disputable;
  price.remarks = trainer.step_graph().remarks;
  return price;
}

}  // namespace isobit::run
