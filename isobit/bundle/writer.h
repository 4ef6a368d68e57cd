// Writes a run so that a kill at any instant loses nothing that was committed. Layout: docs/formats/bundle.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/checkpoint_file.h"
#include "isobit/commit/signature.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/head.h"
#include "isobit/verify/transcript.h"

namespace isobit::bundle {

enum class RunState {
  kAbsent,      // no folder, or an empty one
  kNotBegun,    // killed while it was being created: create() starts it anew
  kUnfinished,  // resume() continues it
  kFinished,
  kForeign,  // the folder holds something else
};
RunState run_state(const fs::path& folder);

struct StoredCheckpoint {
  CheckpointFile file;  // kRejected in the end when it is not what was written
  // Of the state in it, as noted when it was written. Without it nothing vouches for the bytes but a committed root.
  std::optional<commit::Digest> state_root;
};

// One writer of one run. Every append is compared with what is stored already, so the code that drives it is the same
// for a fresh and a resumed run. Errors: kUnavailable for a full disk or a folder that cannot be written (what was
// committed stays, and the call may be repeated), kUsage when the run is not in the state the call needs, kRejected
// when a replayed leaf differs from the stored one: this machine did not reproduce its own run. Not thread-safe.
class BundleWriter {
 public:
  // `folder` must be absent, empty or kNotBegun; kUsage otherwise. Every file is durable before this returns.
  static Expected<BundleWriter> create(const fs::path& folder, ByteView job_toml, const verify::Engagement& engagement,
                                       const verify::TranscriptRules& rules, const commit::SecretKey& trainer);

  // Takes the run up again: drops a torn last record and temporaries, and from the first leaf or log segment that is
  // damaged all that follow, even where heads cover them: they are computed again and must lead to those heads
  // (kRejected by append otherwise). kUsage when the run is finished, absent, being written by another process, or
  // `trainer` is not engaged; kRejected when what is stored contradicts itself, kUnreadable when job, engagement or the
  // beginning of the transcript or the heads is damaged.
  // The caller then chooses a checkpoint and calls continue_from.
  static Expected<BundleWriter> resume(const fs::path& folder, const commit::SecretKey& trainer);

  // Takes back what create() made, all of it: for a run that must not begin. REQUIRES a new run, nothing appended.
  // Afterwards the writer is of no use.
  void discard();

  BundleWriter(BundleWriter&&) noexcept;
  BundleWriter& operator=(BundleWriter&&) noexcept;
  ~BundleWriter();

  const Bytes& job_toml() const;
  const verify::Engagement& engagement() const;
  // All stored leaves, those past the position included. Of a resumed logged run: those whose segment is stored.
  const verify::Transcript& transcript() const;
  // Steps with a checkpoint that the stored transcript reaches, newest first.
  const std::vector<uint64_t>& checkpoints() const;
  Expected<StoredCheckpoint> open_checkpoint(uint64_t step) const;
  // Removes one that is damaged.
  Status drop_checkpoint(uint64_t step);
  // The log segment of a stored step, past the position or not: a trainer that computes its own steps again follows
  // what it decided the first time. Errors as BundleReader::read_log_segment.
  Expected<Bytes> read_log_segment(uint64_t step) const;

  // After resume: the caller stands after `step`, whose leaf is stored, and the next append is that of step + 1.
  // Without this call the next append is the initial leaf. Signs the heads up to there that the engagement asks for, or
  // that had been signed, and that a kill or damage took; they are the same as before.
  Status continue_from(uint64_t step);
  // Index of the leaf that the next append brings.
  uint64_t position() const;

  // Handed to the operating system before this returns (safe against a kill), durable only with the next head.
  // Of a logged job's steps the segment comes along (at most kMaxLogSegmentBytes) and is written first; of a leaf that
  // is stored already it is compared only. kRejected when it is not the one whose digest the leaf has, kUsage when
  // there is a segment too many or too few.
  Status append(const verify::Leaf& leaf);
  Status append(const verify::StepLeaf& leaf, ByteView log_segment);
  // To be called at least whenever a head is due (verify::head_is_due). Makes segments and leaves durable, then signs
  // and durably writes the head of the leaves up to position(). Nothing is done when a head of this or a larger size is
  // there.
  Status sign_head();
  // Durable; makes segments and leaves durable first. Size, digest and state root are noted before the file is there.
  // Then removes all but the `keep` newest (0: keep all). REQUIRES the leaf of `step` appended.
  // `safetensors`: the bytes of the file, piece by piece.
  Status write_checkpoint(uint64_t step, std::span<const ByteView> safetensors, const commit::Digest& state_root,
                          uint64_t keep);

  // Compares every file on the disk with what was written (kUnavailable, naming it, when the disk has changed one:
  // resume then computes again what is lost). Signs the last head if that is still to do, removes the checkpoints of
  // steps whose state the job does not commit to (they served to resume from, and nobody could say whose weights they
  // are) and writes the manifest. kUsage unless the final leaf is appended and the checkpoint of the last step written.
  // Afterwards only the const methods may be called.
  Status finish(const std::map<std::string, std::string>& facts);

 private:
  struct Impl;
  explicit BundleWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace isobit::bundle
