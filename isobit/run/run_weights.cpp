#include "isobit/run/run_weights.h"

#include <algorithm>
#include <set>

#include "isobit/backends/backend.h"
#include "isobit/base/text.h"
#include "isobit/run/job_root.h"
#include "isobit/run/network.h"
#include "isobit/run/static_checks.h"
#include "isobit/train/initial.h"
#include "isobit/train/trainer.h"

namespace isobit::run {

Expected<Weights> read_run_weights(const OpenRequest& request, std::optional<uint64_t> step, ThreadPool& pool) {
  ISOBIT_TRY(OpenedRun opened, open_run(request));
  const bundle::BundleReader& reader = opened.reader;
  if (!reader.finished() && !step) {
    return usage_error(text_of(request.run.string(), ": the run is unfinished and has no final state; resume it, or ",
                               "name the step of a checkpoint with --step"));
  }
  Weights weights;
  weights.step = step.value_or(reader.transcript().rules().steps);
  weights.client_pinned = reader.client_pinned();
  weights.job_root = reader.engagement().terms.job_root;
  ISOBIT_TRY(weights.state, committed_state(reader, weights.step, pool));
  weights.job = std::move(opened.job);
  return weights;
}

namespace {

// The network and the frozen values of a run, as its job root binds them: those that were hashed, not what lies under
// their names a moment later.
Expected<std::vector<NamedTensor>> bound_by_job_root(Weights& weights, platform::Engine& engine, const Limits& limits) {
  ISOBIT_TRY(const Session session, open_session(weights.job, engine, limits, Purpose::kAudit));
  ISOBIT_RETURN_IF_ERROR(check_job_root(session, *weights.job_root));
  weights.network = session.network;
  std::vector<NamedTensor> frozen;
  for (const NamedTensor& t : session.trainer->frozen()) frozen.push_back({t.name, t.tensor.clone()});
  return frozen;
}

// A name that the network does not have is a slip: the tensor that was meant would be missing, or be the file's.
Status check_names(const Weights& weights, const train::StepGraph& step) {
  std::set<std::string> names;
  for (const train::StateSlot& slot : step.slots) names.insert(slot.name);
  for (const train::FrozenSlot& slot : step.frozen) names.insert(slot.name);
  for (const NamedTensor& t : weights.state) {
    const size_t slash = t.name.rfind('/');
    const bool companion = slash != std::string::npos && names.contains(t.name.substr(0, slash)) &&
                           train::is_companion(t.name.substr(slash + 1));
    if (names.contains(t.name) || companion) continue;
    return unreadable(text_of(weights.file, ": found a tensor '", t.name, "', expected those of the job's network (",
                              names.empty() ? "it has none" : text_of("'", *names.begin(), "', ..."), ")"));
  }
  return {};
}

}  // namespace

Status make_ready(Weights& weights, const data::DataShape& data, platform::Engine& engine, const Limits& limits) {
  ISOBIT_TRY(weights.network, open_network(weights.job, limits));
  ISOBIT_TRY(const train::StepGraph step, train::build_step_graph(weights.job, data, *weights.network));
  if (!weights.job_root) ISOBIT_RETURN_IF_ERROR(check_names(weights, step));
  std::vector<NamedTensor> frozen;
  if (weights.job_root && (names_files(weights.job) || !step.frozen.empty())) {
    ISOBIT_TRY(frozen, bound_by_job_root(weights, engine, limits));
  } else {
    ISOBIT_TRY(frozen, train::frozen_values(weights.job, step, *weights.network));
  }
  ISOBIT_TRY(const JobSize size, job_size(weights.job, data, *weights.network));
  ISOBIT_RETURN_IF_ERROR(check_memory(size.to_evaluate, limits, "evaluate"));
  for (NamedTensor& t : frozen) {
    const bool there = std::ranges::find(weights.state, t.name, &NamedTensor::name) != weights.state.end();
    if (!there) weights.state.push_back(std::move(t));
  }
  return {};
}

Expected<train::SampleScores> score_weights(const Weights& weights, const data::Dataset& dataset,
                                            platform::Engine& engine) {
  return train::evaluate(weights.job, dataset, weights.state, engine, backends::native(), *weights.network);
}

std::vector<NamedTensor> inference_tensors(const std::vector<NamedTensor>& state) {
  std::set<std::string> names;
  for (const NamedTensor& t : state) names.insert(t.name);
  std::vector<NamedTensor> out;
  for (const NamedTensor& t : state) {
    // "weight/momentum" is the optimizer's beside "weight"; a network from a file may have names with a slash, too.
    const size_t slash = t.name.rfind('/');
    const bool companion = slash != std::string::npos && names.contains(t.name.substr(0, slash)) &&
                           train::is_companion(t.name.substr(slash + 1));
    if (!companion) out.push_back(t);
  }
  return train::in_float32(out);
}

}  // namespace isobit::run
