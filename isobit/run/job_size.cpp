#include "isobit/run/job_size.h"

#include <algorithm>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/bundle/log_file.h"
#include "isobit/formats/json_header.h"
#include "isobit/graph/graph.h"
#include "isobit/log/segment.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/specialise.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/train/step_graph.h"

namespace isobit::run {

namespace {

constexpr uint64_t kTile = 1024;  // of a tensor root: a hash for each
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

// Sums and products that stay at the top instead of wrapping: whatever is there is over every limit.
uint64_t plus(uint64_t a, uint64_t b) { return a > kMost - b ? kMost : a + b; }
uint64_t times(uint64_t a, uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

uint64_t bytes_of(const graph::Value& value) {
  uint64_t bytes = size_of(value.dtype);
  for (const int64_t dim : value.dims) bytes = times(bytes, static_cast<uint64_t>(std::max<int64_t>(dim, 0)));
  return bytes;
}

// Of the JSON header for one tensor, with numbers of any length.
uint64_t header_bytes(const std::string& name, size_t rank) {
  const std::string_view rest = R"(,:{"dtype":"BOOL","shape":[],"data_offsets":[,]})";
  return formats::json_quoted(name).size() + rest.size() + 20 * (rank + 2) + rank;
}

void count_state(const train::StepGraph& step, JobSize& size) {
  uint64_t header = 256;
  for (const train::StateSlot& slot : step.slots) {
    const graph::Value& value = step.graph.value(slot.in);
    const uint64_t bytes = bytes_of(value);
    size.state = plus(size.state, bytes);
    size.largest_tensor = std::max(size.largest_tensor, bytes);
    header += header_bytes(slot.name, value.dims.size());
    if (slot.parameter >= 0) size.parameters += static_cast<int64_t>(bytes / size_of(value.dtype));
  }
  size.largest_checkpoint = plus(size.state, header);
  for (const train::FrozenSlot& slot : step.frozen) {
    const graph::Value& value = step.graph.value(slot.in);
    size.frozen = plus(size.frozen, bytes_of(value));
    size.frozen_parameters += static_cast<int64_t>(bytes_of(value) / size_of(value.dtype));
  }
}

// What a run of the graph takes; of a graph whose shapes follow from data, what is known of that.
Expected<uint64_t> peak_of(const graph::Graph& graph, const runtime::Recomputation& recomputation = {}) {
  if (runtime::is_static(graph) || recomputation.what != runtime::Recompute::kNothing) {
    runtime::Limits limits;
    limits.recomputation = recomputation;
    return runtime::Executor(graph, runtime::kernel_table(), limits).planned_peak_bytes();
  }
  uint64_t all = 0;
  for (graph::ValueId id = 0; id < static_cast<graph::ValueId>(graph.value_count()); ++id) {
    if (graph.value(id).is_static()) all = plus(all, bytes_of(graph.value(id)));
  }
  return all;
}

void count_log(const train::Job& job, const train::StepGraph& step, JobSize& size) {
  if (!arithmetic_of(job).logs) return;
  const auto schema = runtime::logged_outputs(step.graph, job.rounding.log);
  size.largest_log_segment = log::largest_segment(job.rounding.log, schema);
  const uint64_t record = plus(size.largest_log_segment, bundle::kRecordOverhead);
  size.largest_log = plus(times(static_cast<uint64_t>(job.steps), record), bundle::log_header().size());
}

Status count_evaluation(const train::Job& job, const data::DataShape& data, const models::Network& network,
                        JobSize& size) {
  const int64_t samples = train::evaluation_samples(job, data.test_count, network);
  if (samples == 0) return {};
  const int64_t batch = train::evaluation_batch(job, samples, network);
  ISOBIT_TRY(const train::EvalGraph eval, build_eval_graph(job, data, batch, network));
  ISOBIT_TRY(const uint64_t peak, peak_of(eval.graph));
  // A loss for each row; tokens of a sequence are rows of their own.
  const graph::Value& rows = eval.graph.value(eval.graph.outputs()[0]);
  const auto rows_per_sample = static_cast<uint64_t>(rows.dims[0] / eval.batch);
  size.evaluation_peak = plus(peak, times(times(static_cast<uint64_t>(samples), rows_per_sample), sizeof(float)));
  return {};
}

}  // namespace

Expected<JobSize> job_size(const train::Job& job, const data::DataShape& data, const models::Network& network,
                           runtime::Recompute recompute) {
  JobSize size;
  ISOBIT_RETURN_IF_ERROR(runtime::check_recompute(recompute, arithmetic_of(job)));
  ISOBIT_TRY(const train::StepGraph step, build_step_graph(job, data, network));
  size.nodes = static_cast<int64_t>(step.graph.nodes().size());
  ISOBIT_TRY(size.step_peak, peak_of(step.graph, {recompute, step.losses}));
  count_state(step, size);
  count_log(job, step, size);
  ISOBIT_RETURN_IF_ERROR(count_evaluation(job, data, network, size));
  const auto samples = static_cast<uint64_t>(data.train_count + data.test_count);
  size.data = plus(data.bytes, times(samples, sizeof(int64_t) + sizeof(commit::Digest)));

  const uint64_t hashes = size.state / kTile * sizeof(commit::Digest);
  const uint64_t always = plus(plus(size.data, hashes), kWorkspace);
  // What is frozen is part of the step's values and of the evaluation's. What the network is given is read before there
  // is a state, and becomes it.
  // kept: products keep what is frozen as they lay it out, too (kernels/matmul/kept_panels.h).
  const uint64_t held = plus(size.state, size.frozen), kept = size.frozen, given = network.given_bytes();
  // The step has been taken and the state is alone while it is written or scored.
  const uint64_t scoring = plus(held, size.evaluation_peak);
  // Checkpoints are read and written a tensor at a time, and an audit holds no state but that of its one trainer.
  const uint64_t moving = std::max(plus(held, size.largest_tensor), given);
  // A step keeps its memory for the next one while the state is scored.
  size.to_train = plus(plus(always, kept), std::max(moving, plus(size.step_peak, size.evaluation_peak)));
  // It keeps it, too, while a sampled audit takes the next state over, of which only tensors of the job's own shapes
  // are read. All checkpoints are looked at before there is a state: each may be a single tensor.
  const uint64_t between_steps = plus(size.step_peak, std::max(size.largest_tensor, size.evaluation_peak));
  size.to_audit = plus(plus(always, kept), std::max({size.largest_checkpoint, between_steps, given}));
  size.to_evaluate = plus(always, std::max(moving, scoring));
  if (size.largest_log_segment > 0) {
    // OVT: a byte for each decision, which takes a fifth of one when it is coded, and two copies of those. Sparse: few
    // outputs are near a tie; what a stranger's log may hold more is bounded by the size of its file.
    const bool ovt = job.rounding.log == log::Kind::kOvt;
    const uint64_t log = ovt ? times(size.largest_log_segment, 7) : size.largest_log_segment / 16;
    size.to_train = plus(size.to_train, log);
    size.to_audit = plus(size.to_audit, log);
  }
  return size;
}

uint64_t trial_bytes(const train::Job& job, const platform::Platform& platform) {
  const platform::Arithmetic& arithmetic = arithmetic_of(job);
  const bool in_float64 = arithmetic.corrects || arithmetic.computes_in == DType::kFloat64;
  constexpr uint64_t kLargest = 2048, kOther = uint64_t{16} << 20;
  return platform.is_ordered() || platform.is_integer() || !in_float64
             ? 0
             : 3 * sizeof(double) * kLargest * kLargest + kOther;
}

Status check_memory(uint64_t needed, const Limits& limits, const std::string& purpose) {
  if (needed <= limits.max_memory) return {};
  return unavailable(text_of("to ", purpose, " this job takes about ", human_bytes(needed),
                             " of memory, more than the ", human_bytes(limits.max_memory),
                             " allowed; make data.batch or the model smaller, or allow ", "more with --max-memory"));
}

}  // namespace isobit::run
