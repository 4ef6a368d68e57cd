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
  // commit::StateRoot::digest() of the tensors. None where they are no state, or the taker did not want one of them.
  std::optional<commit::Digest> state_root;
  std::string problem;  // where there is no root
};

// Reads the file once and hashes its tensors as they come; each then goes to the taker, which may keep it, but must not
// believe it before this returns. Takes the memory of the largest tensor that the taker wants. `what` starts the
// messages. Errors: those of CheckpointFile, whatever is in the file.
Expected<CheckpointContents> read_checkpoint(bundle::CheckpointFile file, uint64_t step, const std::string& what,
                                             ThreadPool& pool, const formats::TensorTaker& taker);

// Who knows nothing of the job's state wants whatever there is: at most what a file of the bundle may have.
inline Status want_any(const std::string&, DType, const Shape&) { return {}; }
// For a checkpoint that is only looked at.
inline formats::TensorTaker only_look() {
  return {want_any, [](NamedTensor) { return Status(); }};
}
// For one that is to be the trainer's state: Trainer::wants and put. The trainer must stay.
inline formats::TensorTaker into(train::Trainer& trainer) {
  return {[&trainer](const std::string& name, DType dtype, const Shape& shape) {
            return trainer.wants(name, dtype, shape).map([](size_t) {});
          },
          [&trainer](NamedTensor tensor) { return trainer.put(std::move(tensor)); }};
}

// Of the trainer's state, with this root, and without a copy of it. Errors: as BundleWriter::write_checkpoint.
Status write_checkpoint(bundle::BundleWriter& writer, const train::Trainer& trainer, const commit::Digest& root);

}  // namespace isobit::run
