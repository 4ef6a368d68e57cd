// The weights inside a run: nothing but a state that its transcript commits to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/base/thread_pool.h"
#include "isobit/commit/hash.h"
#include "isobit/data/data_shape.h"
#include "isobit/data/dataset.h"
#include "isobit/models/network.h"
#include "isobit/platform/platform.h"
#include "isobit/run/open_run.h"
#include "isobit/tensor/tensor.h"
#include "isobit/train/evaluation.h"
#include "isobit/train/job.h"

namespace isobit::run {

struct Weights {
  train::Job job;
  std::vector<NamedTensor> state;  // as in the checkpoint
  uint64_t step = 0;
  std::string file;                                // where the state is from, if it is no run's
  std::shared_ptr<const models::Network> network;  // of the job; null until make_ready()
  std::optional<commit::Digest> job_root;          // of weights from a run: what it was engaged under
  // Whether the signatures were checked against a key that the caller trusts, not only against the run's own.
  bool client_pinned = false;
};

// The final state of a finished run, or the checkpoint of `step`. Its root is compared with the transcript: kRejected
// when it is another one. Else as open_run; kUsage: the run is unfinished and no step was named, there is no such
// checkpoint, or the job commits to no state after it.
Expected<Weights> read_run_weights(const OpenRequest& request, std::optional<uint64_t> step, ThreadPool& pool);

// Opens the network of the job and adds to the state what the job freezes, which is no part of a run's; a file of
// weights may hold it, and then its values count. Where the network or what is frozen comes from a file of the reader's
// own, the job root of a run is computed anew from all that it binds, data included: kRejected when it is not that of
// the engagement, so that no other network and no other frozen value passes for the one that was trained. Other errors:
// as open_network and open_session; kUnavailable: an evaluation takes more memory than the limit.
Status make_ready(Weights& weights, const data::DataShape& data, platform::Engine& engine, const Limits& limits);
// Scores them on the job's test samples. REQUIRES make_ready(). Errors: as train::evaluate.
Expected<train::SampleScores> score_weights(const Weights& weights, const data::Dataset& dataset,
                                            platform::Engine& engine);

// Parameters and buffers only: what inference needs, without the optimizer's state. In float32, whatever they were
// trained in.
std::vector<NamedTensor> inference_tensors(const std::vector<NamedTensor>& state);

}  // namespace isobit::run
