// What can be said against a run without replaying it, beyond what opening it checks.
#pragma once

#include <optional>

#include "isobit/base/thread_pool.h"
#include "isobit/bundle/reader.h"
#include "isobit/tensor/tensor.h"
#include "isobit/verify/auditor.h"

namespace isobit::run {

// The state that a checkpoint holds: kRejected unless it is the one that the transcript commits to after its step
// (after the last step, also that of the final leaf). kUsage when the run has no such checkpoint, or when nothing is
// committed after its step.
Expected<std::vector<NamedTensor>> committed_state(const bundle::BundleReader& reader, uint64_t step, ThreadPool& pool);

// A rejection when the transcript of a finished run contradicts itself, or when a checkpoint, such as the weights
// handed out at the end, is not the state that the transcript commits to.
std::optional<verify::AuditVerdict> static_finding(const bundle::BundleReader& reader, ThreadPool& pool);

}  // namespace isobit::run
