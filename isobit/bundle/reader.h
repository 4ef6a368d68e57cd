// Opens a run that somebody else may have written, and checks everything that can be checked without replaying it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/manifest.h"
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
};

class BundleReader {
 public:
  // kUnreadable: no bundle there, or from a newer version. kRejected: any signature, digest or structure check failed,
  // a missing or an unexpected file included. A finished run is checked whole (every file is read). Of an unfinished
  // one a torn last record is left out, and so are leaves after the last head whose log segment is not whole.
  static Expected<BundleReader> open(const fs::path& folder, const OpenOptions& options);

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
  // Steps, increasing.
  const std::vector<uint64_t>& checkpoints() const { return checkpoints_; }
  // The bytes of a finished run are checked against the manifest once more.
  Expected<Bytes> read_checkpoint(uint64_t step) const;
  // The rounding-log segment of a step, at any place of the log and of any size up to kMaxLogSegmentBytes, compared
  // with its leaf whenever it is read: kRejected, naming the step, when it is another one. kUsage when the job is not
  // logged or the transcript has no such step (1 .. transcript().steps()). Several threads may read at a time.
  Expected<Bytes> read_log_segment(uint64_t step) const;

 private:
  BundleReader() : transcript_(verify::TranscriptRules{}) {}

  fs::path folder_;
  bool client_pinned_ = false;
  Bytes job_toml_;
  verify::Engagement engagement_;
  verify::Transcript transcript_;
  std::vector<verify::SignedHead> heads_;
  std::optional<Manifest> manifest_;
  std::vector<uint64_t> checkpoints_;
  std::shared_ptr<const Log> log_;  // none unless the job is logged

  friend class BundleOpener;
};

}  // namespace isobit::bundle
