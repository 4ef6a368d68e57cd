// The job alone as one digest: it needs neither data nor network.
#pragma once

#include "isobit/commit/hash.h"
#include "isobit/train/job.h"

namespace isobit::run {

// Of canonical_job_bytes(). Two parties that agree on it agree on every field that fixes the result, though not yet on
// the data (that is the job root).
inline commit::Digest job_digest(const train::Job& job) {
  return commit::tagged_hash(train::kJobTag, train::kJobVersion, train::canonical_job_bytes(job));
}

}  // namespace isobit::run
