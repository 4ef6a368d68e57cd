// What a job root is the root of. Whoever is shown the parts and knows the root knows what a step computes on, without
// the data, the network or the job's file. Byte layouts: docs/formats/job.md, docs/formats/dispute.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"

namespace isobit::verify {

// Parameters that training does not change: no part of the state, so that no state root has to hash them again.
struct FrozenParameters {
  uint64_t count = 0;
  commit::Digest root{};  // of them as a state at step 0 (commit/tensor_root.h)
  bool operator==(const FrozenParameters&) const = default;
};

// Field by field (docs/formats/job.md).
struct JobRootParts {
  commit::Digest job{}, dataset{};
  uint64_t train_samples = 0, test_samples = 0;
  commit::Digest step_graph{}, eval_graph{};
  std::optional<commit::Digest> trace_schema;  // none unless StepGraph::disputable
  commit::Digest initial_state{};
  std::optional<FrozenParameters> frozen = std::nullopt;       // where the job freezes something
  std::optional<commit::Digest> graphs_scored = std::nullopt;  // of a network from a file
  bool operator==(const JobRootParts&) const = default;
};
commit::Digest job_root(const JobRootParts& parts);

// The graph that an evaluation by batches of so many samples runs, where the network is from a file.
struct ScoredGraph {
  int64_t batch = 0;
  commit::Digest root{};  // zeros: the network takes no such batch
  bool operator==(const ScoredGraph&) const = default;
};
// JobRootParts::graphs_scored; ascending by batch.
commit::Digest scored_graphs_digest(const std::vector<ScoredGraph>& graphs);

// Canonical bytes; the decoder takes no others.
Bytes encode(const JobRootParts& parts);
Expected<JobRootParts> decode_job_root_parts(ByteView data, const std::string& what);

}  // namespace isobit::verify
