// What can be said against a run without replaying it, beyond what opening it checks.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "isobit/base/thread_pool.h"
#include "isobit/bundle/reader.h"
#include "isobit/run/checkpoint.h"
#include "isobit/tensor/tensor.h"
#include "isobit/verify/auditor.h"

namespace isobit::run {

// The state that a checkpoint holds: kRejected unless it is the one that the transcript commits to after its step
// (after the last step, also that of the final leaf). kUsage when the run has no such checkpoint, or when nothing is
// committed after its step.
Expected<std::vector<NamedTensor>> committed_state(const bundle::BundleReader& reader, uint64_t step, ThreadPool& pool);

using Progress = std::function<void(uint64_t done, uint64_t total)>;

// What the checkpoints of a run hold, by step.
using CheckpointRoots = std::map<uint64_t, CheckpointContents>;

// Reads each checkpoint once, whatever is in it, and says after each how many have been read, of how many. kRejected
// when one is not what the trainer signed for.
Expected<CheckpointRoots> read_checkpoints(const bundle::BundleReader& reader, ThreadPool& pool,
                                           const Progress& progress = {});

// Reads one, and puts the trainer after its step: where there is a root, that is where it stands. Errors likewise.
Expected<CheckpointContents> read_checkpoint_into(const bundle::BundleReader& reader, uint64_t step,
                                                  train::Trainer& trainer, ThreadPool& pool);

// A rejection when the transcript of a finished run contradicts itself, or when one of these checkpoints, such as the
// weights handed out at the end, is not the state that the transcript commits to.
std::optional<verify::AuditVerdict> static_finding(const bundle::BundleReader& reader, const CheckpointRoots& roots);

}  // namespace isobit::run
