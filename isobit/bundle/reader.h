// Opens a run that somebody else may have written, and checks everything that can be checked without replaying it.
//
// In two parts, because between them the caller reads the job: first what is small, named and signed (the front), then,
// measured against what the job implies, everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/checkpoint_file.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/run_limits.h"
#include "isobit/commit/signature.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/head.h"
#include "isobit/verify/transcript.h"

namespace isobit::bundle {

struct Log;

struct OpenOptions {
  // The client the caller trusts. Without it signatures are checked against the key that the run itself names: enough
  // to show what a run says, never to accept it.
  std::optional<commit::PublicKey> client_key;
  // The terms that the client holds: the run must have been made under these.
  std::optional<verify::EngagementTerms> terms = std::nullopt;
};

// The front of a run. Of a finished one the job and the manifest are then known to be the engaged trainer's own; of
// neither is anything believed yet.
class BundleFront {
 public:
  // In this order, each before the next: names and sizes in the folder, engagement, signature over the manifest's bytes
  // under an engaged key, manifest, job file. kUnreadable: no bundle there, or from a newer version. kRejected:
  // anything else that is wrong with a finished run. Reads at most 1.2 MiB.
  static Expected<BundleFront> open(const fs::path& folder, const OpenOptions& options);

  bool finished() const { return manifest_.has_value(); }
  bool client_pinned() const { return client_pinned_; }
  const fs::path& folder() const { return folder_; }
  const verify::Engagement& engagement() const { return engagement_; }
  const Bytes& job_toml() const { return job_toml_; }
  // Present iff finished().
  const std::optional<Manifest>& manifest() const { return manifest_; }

 private:
  BundleFront() = default;

  fs::path folder_;
  bool client_pinned_ = false;
  Listing listing_;
  verify::Engagement engagement_;
  std::optional<Manifest> manifest_;
  Bytes job_toml_;

  friend class FrontOpener;
  friend class BundleOpener;
  friend class BundleContinuer;
};

// What is done about the checkpoints of a finished run when it is opened.
enum class Checkpoints {
  kCompare,  // each is read and compared with the manifest
  kLeave,    // that is left to who reads each of them anyway (CheckpointFile::finish)
};

class BundleReader {
 public:
  // kRejected: any size, digest, signature or structure check failed, a missing or an unexpected file included; also
  // where the transcript's header is not that of the limits. A finished run is checked whole (every file is
  // read, except what `checkpoints` leaves). Of an unfinished one a torn last record is left out, and so are leaves
  // after the last head whose log segment is not whole; what cannot be decoded there is kUnreadable, and so is one that
  // lacks leaves which a head covers. A trainer may write to it meanwhile.
  static Expected<BundleReader> open(BundleFront front, const RunLimits& limits,
                                     Checkpoints checkpoints = Checkpoints::kCompare);

  // Of an unfinished run with a head, some time later: takes over what heads cover that were signed since, and reads
  // nothing again that the last one covers. What it finds has been checked as open() would, and extends what was there.
  // False where that cannot be: the run has ended, or the files are not those with something at their ends (one that
  // lost its end, another run, an older copy, something that open() refuses). Then nothing has changed here, and only
  // opening it anew says what it is now.
  Expected<bool> read_on(const BundleFront& front, const RunLimits& limits);

  bool finished() const { return manifest_.has_value(); }
  // kUnreadable "resume it first" unless it is finished; an audit starts with this.
  Status require_finished() const;
  bool client_pinned() const { return client_pinned_; }

  const fs::path& folder() const { return folder_; }
  const Bytes& job_toml() const { return job_toml_; }
  const verify::Engagement& engagement() const { return engagement_; }
  const verify::Transcript& transcript() const { return transcript_; }
  const std::vector<verify::SignedHead>& heads() const { return heads_; }
  // Present iff finished().
  const std::optional<Manifest>& manifest() const { return manifest_; }
  // Steps, increasing. Of a finished run all are steps whose state root is committed, and the last is the job's last.
  const std::vector<uint64_t>& checkpoints() const { return checkpoints_; }
  // kUnreadable when the run has none of that step. That of a finished run is, in the end, compared with the manifest:
  // kRejected.
  Expected<CheckpointFile> open_checkpoint(uint64_t step) const;
  // The rounding-log segment of a step, at any place of the log and of any size up to kMaxLogSegmentBytes. kRejected,
  // naming the step, when it is not whole, or, in an unfinished run, not what its record's checksum says: of a finished
  // one the manifest vouched for it when the run was opened. Whether it is what the step's leaf commits to, only who
  // decodes it can say (run::StepLogReader). kUsage when the job is not logged or the transcript has no such step
  // (1 .. transcript().steps()). Several threads may read at a time.
  Expected<Bytes> read_log_segment(uint64_t step) const;
  // Reads the log of a finished run once more: kRejected where the manifest, which vouched for it when the run was
  // opened, no longer does, so that it was changed since.
  Status compare_log() const;

 private:
  BundleReader() : transcript_(verify::TranscriptRules{}) {}
  // Up to where the last head covers the files.
  struct Covered {
    uint64_t transcript_bytes = 0, heads_bytes = 0;
    commit::MerkleTree tree;
  };

  fs::path folder_;
  bool client_pinned_ = false;
  Bytes job_toml_;
  verify::Engagement engagement_;
  verify::Transcript transcript_;
  std::vector<verify::SignedHead> heads_;
  std::optional<Manifest> manifest_;
  std::vector<uint64_t> checkpoints_;
  uint64_t checkpoint_bytes_ = 0;   // the most of one
  std::shared_ptr<const Log> log_;  // none unless the job is logged
  std::optional<Covered> covered_;  // of an unfinished run with a head

  friend class BundleOpener;
  friend class BundleContinuer;
};

}  // namespace isobit::bundle
