// The weights inside a run, or in a file beside a job.
#pragma once

#include <optional>

#include "isobit/base/file.h"
#include "isobit/train/job.h"

namespace isobit::run {

struct Weights {
  train::Job job;
  std::vector<NamedTensor> state;  // as in the checkpoint
  uint64_t step = 0;
};

// Of the checkpoint of `step` (the newest without it). The bundle's own checks are made (kRejected); no key is pinned.
Expected<Weights> read_run_weights(const fs::path& folder, std::optional<uint64_t> step,
                                   const std::vector<std::string>& overrides);

// Parameters and buffers only: what inference needs, without the optimizer's state. In float32, whatever they were
// trained in.
std::vector<NamedTensor> inference_tensors(const std::vector<NamedTensor>& state);

}  // namespace isobit::run
