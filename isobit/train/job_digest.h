// The job alone as one digest: it needs neither data nor network. A header, so that the core, which has no hashes,
// builds without it.
#pragma once

#include "isobit/commit/hash.h"
#include "isobit/train/job.h"

namespace isobit::train {

// Of canonical_job_bytes(). Two parties that agree on it agree on every field that fixes the result, though not yet on
// the data (that is the job root).
inline commit::Digest job_digest(const Job& job) {
  return commit::tagged_hash(kJobTag, kJobVersion, canonical_job_bytes(job));
}

}  // namespace isobit::train
