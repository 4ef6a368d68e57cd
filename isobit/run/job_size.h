// What a job needs, from its shapes alone: no tensor is allocated, so that a stranger's job can be priced in
// milliseconds and refused before it takes any memory.
#pragma once

#include <cstdint>
#include <string>

#include "isobit/data/data_shape.h"
#include "isobit/models/network.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/recompute.h"
#include "isobit/train/job.h"

namespace isobit::run {

// Bytes, unless said otherwise.
struct JobSize {
  int64_t parameters = 0;         // numbers that are learned
  int64_t frozen_parameters = 0;  // numbers that stay as they are: parameters and running statistics
  int64_t nodes = 0;              // operators of a step
  uint64_t state = 0;             // parameters, optimizer state, buffers
  uint64_t frozen = 0;            // what is frozen
  uint64_t largest_tensor = 0;    // of the state
  // The most that the values of a step, state included, take at once (runtime::MemoryUse), and those of an evaluation,
  // its copy of the state in float32 included where the step has another type. Where shapes follow from data
  // (runtime::is_static), no more than all values whose shapes are known.
  uint64_t step_peak = 0;
  uint64_t evaluation_peak = 0;      // 0 without test samples
  uint64_t data = 0;                 // what of the data is held, and their hashes; 0 where they have not been opened
  uint64_t largest_checkpoint = 0;   // no checkpoint file of this job is larger
  uint64_t largest_log_segment = 0;  // no log of one step is; 0 for a job without a log
  uint64_t largest_log = 0;          // nor the log file of all steps

  // No whole process takes more: what is above, what else is alive beside it, and kWorkspace, an estimate, for the
  // kernels and the program. Holds for an audit of whatever a stranger signed. Not counted: the child process in which
  // a vendor's library is tried (trial_bytes).
  uint64_t to_train = 0;
  uint64_t to_audit = 0;
  uint64_t to_evaluate = 0;
};

// Estimated: kernels work in blocks of bounded size.
inline constexpr uint64_t kWorkspace = uint64_t{96} << 20;

// About what a child process takes that tries the library of `platform` (kernels/vendor/trial.h), for a moment and
// beside the process that computes the job: the three matrices of the largest product and some kernels. 0 for our own
// products, and for a job that uses no float64 product.
uint64_t trial_bytes(const train::Job& job, const platform::Platform& platform);

// Errors: as build_step_graph; kUnavailable where sizes cannot even be counted. Counts of `data` may be 0 (not opened):
// then what depends on them is left out.
// `recompute`: what of a step is computed again rather than kept; errors: runtime::check_recompute, and kUnreadable for
// a network whose shapes follow from data.
Expected<JobSize> job_size(const train::Job& job, const data::DataShape& data,
                           const models::Network& network = *models::built_in(),
                           runtime::Recompute recompute = runtime::Recompute::kNothing);

// How much a process may take. The library sets no limit by itself.
struct Limits {
  uint64_t max_memory = UINT64_MAX;  // bytes
  // What of a training step is computed again rather than kept, to stay below.
  runtime::Recompute recompute = runtime::Recompute::kNothing;
};

// kUnavailable, with what is needed, what is allowed and what to do, when `needed` is over the limit. `purpose`:
// "train", "audit" ...
Status check_memory(uint64_t needed, const Limits& limits, const std::string& purpose);

}  // namespace isobit::run
