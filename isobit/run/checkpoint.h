// Checkpoints in and out of runs, one tensor at a time.
#pragma once

#include <optional>
#include <string>

#include "isobit/base/thread_pool.h"
#include "isobit/bundle/checkpoint_file.h"
#include "isobit/bundle/writer.h"
#include "isobit/commit/hash.h"
#include "isobit/formats/safetensors.h"
#include "isobit/train/trainer.h"

namespace isobit::run {

// What a checkpoint file holds that is what it should be as a file.
struct CheckpointContents {
  // commit::StateRoot::digest() of the tensors. None where they are no state, or `take` did not want one of them.
  std::optional<commit::Digest> state_root;
  std::string problem;  // where there is no root
};

// Reads the file once and hashes its tensors as they come; each then goes to `take`, which may keep it, but must not
// believe it before this returns. `what` starts the messages. Errors: those of CheckpointFile, whatever is in the file.
Expected<CheckpointContents> read_checkpoint(bundle::CheckpointFile file, uint64_t step, const std::string& what,
                                             ThreadPool& pool, const formats::TakeTensor& take);

// For a checkpoint that is only looked at.
inline Status take_none(NamedTensor) { return {}; }

// Of the trainer's state, with this root, and without a copy of it. Errors: as BundleWriter::write_checkpoint.
Status write_checkpoint(bundle::BundleWriter& writer, const train::Trainer& trainer, const commit::Digest& root);

}  // namespace isobit::run
