// What can be said against a run without replaying it, beyond what opening it checks.
#pragma once

#include <optional>

#include "isobit/base/thread_pool.h"
#include "isobit/bundle/reader.h"
#include "isobit/verify/auditor.h"

namespace isobit::run {

// A rejection when the transcript contradicts itself, or when a checkpoint, such as the weights handed out at the end,
// is not the state that the transcript commits to. Checkpoints of steps without a committed state are passed over.
std::optional<verify::AuditVerdict> static_finding(const bundle::BundleReader& reader, ThreadPool& pool);

}  // namespace isobit::run
