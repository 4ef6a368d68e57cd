#include "isobit/bundle/reader.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/parts_internal.h"

namespace isobit::bundle {

std::vector<uint64_t> checkpoints_in(const Listing& listing) {
  std::vector<uint64_t> steps;
  const size_t prefix = kCheckpointFolder.size() + 1;
  for (const auto& [name, size] : listing.files) {
    if (name.size() <= prefix || !is_bundle_file(name)) continue;
    if (const auto step = checkpoint_step(std::string_view(name).substr(prefix))) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

namespace {

Status check_sizes(const fs::path& folder, const Listing& listing, const RunLimits& limits) {
  for (const auto& [name, size] : listing.files) {
    if (!is_bundle_file(name) || size <= limits.file_bytes(name)) continue;
    return rejected(text_of(name_in(folder, name), ": is ", human_bytes(size), ", more than the ",
                            human_bytes(limits.file_bytes(name)), " that a run of its job may have there"));
  }
  return {};
}

// What is handed out at the end is there, and nothing is that no audit could compare.
Status check_checkpoints(const fs::path& folder, const std::vector<uint64_t>& steps,
                         const verify::TranscriptRules& rules) {
  const auto name = [&](uint64_t step) {
    return name_in(folder, text_of(kCheckpointFolder, "/", checkpoint_name(step)));
  };
  for (uint64_t step : steps) {
    if (step > rules.steps) return rejected(text_of(name(step), ": the job has no such step, only ", rules.steps));
    if (!rules.has_state(step) && step != rules.steps) {
      return rejected(text_of(name(step), ": the job commits to no state after this step (only to every ",
                              rules.commit_every, "th), so nothing shows whose weights these are"));
    }
  }
  if (steps.empty() || steps.back() != rules.steps) {
    return rejected(text_of(name(rules.steps), ": is missing; a finished run holds its final state"));
  }
  return {};
}

// What a finished transcript must be beyond what check_parts asks.
Status check_end(const fs::path& folder, const Parts& parts, const Manifest& manifest,
                 const verify::Engagement& engagement) {
  const verify::Transcript& transcript = parts.transcript.transcript;
  const std::string what = name_in(folder, kTranscriptFile);
  if (!parts.transcript.torn.empty()) return rejected(text_of(what, ": ", parts.transcript.torn));
  if (!parts.heads.torn.empty()) return rejected(text_of(name_in(folder, kHeadsFile), ": ", parts.heads.torn));
  if (!transcript.complete()) {
    return rejected(text_of(what, ": has ", transcript.size(), " leaves, a finished run of this job has ",
                            transcript.rules().leaves()));
  }
  if (parts.heads.heads.empty() || parts.heads.heads.back().tree.size != transcript.size()) {
    return rejected(text_of(name_in(folder, kHeadsFile), ": the last head does not cover the whole transcript"));
  }
  ISOBIT_RETURN_IF_ERROR(
      verify::verify_cadence(parts.heads.heads, engagement.terms.head_every, transcript, name_in(folder, kHeadsFile)));
  if (manifest.transcript_root != transcript.transcript_root()) {
    return rejected(text_of(name_in(folder, kManifestFile), ": field 'transcript_root': found ",
                            commit::hex_of(manifest.transcript_root), ", the transcript gives ",
                            commit::hex_of(transcript.transcript_root())));
  }
  return {};
}

}  // namespace

// Fills a reader; apart from it because the two kinds of run take different ways.
class BundleOpener {
 public:
  BundleOpener(BundleFront front, const RunLimits& limits, Checkpoints checkpoints)
      : front_(std::move(front)), limits_(limits), checkpoints_(checkpoints) {}

  Expected<BundleReader> open() {
    const std::string what = name_in(front_.folder_, kJobFile);
    ISOBIT_RETURN_IF_ERROR(limits_.rules.check(what));
    ISOBIT_RETURN_IF_ERROR(check_sizes(front_.folder_, front_.listing_, limits_));
    ISOBIT_RETURN_IF_ERROR(check_log_presence(limits_.rules.logged, front_.listing_, front_.folder_));
    return front_.finished() ? open_finished() : open_unfinished();
  }

 private:
  // The bytes that are decoded are those whose digest is compared: a file exchanged meanwhile does no harm.
  Expected<Bytes> read(std::string_view name) const {
    ISOBIT_TRY(Bytes bytes, read_plain_file(front_.folder_ / name, limits_.file_bytes(name)));
    if (front_.manifest_) {
      ISOBIT_RETURN_IF_ERROR(check_entry(front_.folder_, name, entry_of(bytes), *front_.manifest_));
    }
    return bytes;
  }

  // Heads first: of a run that goes on meanwhile the leaves that a head covers are there before it.
  Expected<Parts> parts() const {
    ISOBIT_TRY(const Bytes heads, read(kHeadsFile));
    ISOBIT_TRY(HeadsFile signatures, decode_heads_file(heads, name_in(front_.folder_, kHeadsFile)));
    ISOBIT_TRY(const Bytes transcript, read(kTranscriptFile));
    ISOBIT_TRY(TranscriptFile leaves,
               decode_transcript_file(transcript, name_in(front_.folder_, kTranscriptFile), &limits_.rules));
    Parts parts{std::move(leaves), std::move(signatures)};
    ISOBIT_RETURN_IF_ERROR(check_covered(parts));
    ISOBIT_RETURN_IF_ERROR(check_parts(parts, front_.engagement_, front_.folder_));
    return parts;
  }

  // Leaves that a disk lost are computed again by who resumes, until the heads are right again.
  Status check_covered(const Parts& parts) const {
    if (front_.finished() || parts.heads.heads.empty()) return {};
    const uint64_t covered = parts.heads.heads.back().tree.size, leaves = parts.transcript.transcript.size();
    if (covered <= leaves) return {};
    return unreadable(text_of(name_in(front_.folder_, kTranscriptFile), ": has ", leaves, " leaves, a signed head ",
                              "covers ", covered, "; resuming the run computes again what is lost"));
  }

  Expected<BundleReader> open_unfinished() {
    ISOBIT_TRY(Parts parts, this->parts());
    std::shared_ptr<const Log> log;
    if (limits_.rules.logged) {
      ISOBIT_TRY(Log found, open_unfinished_log(parts, front_.folder_));
      log = std::make_shared<const Log>(std::move(found));
    }
    return fill(std::move(parts), std::move(log));
  }

  Expected<BundleReader> open_finished() {
    const fs::path& folder = front_.folder_;
    const Manifest& manifest = *front_.manifest_;
    ISOBIT_RETURN_IF_ERROR(check_checkpoints(folder, checkpoints_in(front_.listing_), limits_.rules));
    ISOBIT_TRY(Parts parts, or_rejected(this->parts()));
    ISOBIT_RETURN_IF_ERROR(check_end(folder, parts, manifest, front_.engagement_));
    for (const auto& [name, entry] : manifest.files) {
      if (!name.starts_with(kCheckpointFolder) || checkpoints_ == Checkpoints::kLeave) continue;
      ISOBIT_TRY(const FileEntry found, or_rejected(digest_of_file(folder / name, entry.size)));
      ISOBIT_RETURN_IF_ERROR(check_entry(folder, name, found, manifest));
    }
    std::shared_ptr<const Log> log;
    if (limits_.rules.logged) {
      const FileEntry& entry = manifest.files.at(std::string(kLogFile));
      ISOBIT_TRY(Log found, or_rejected(open_finished_log(parts.transcript.transcript, entry, folder)));
      log = std::make_shared<const Log>(std::move(found));
    }
    return fill(std::move(parts), std::move(log));
  }

  BundleReader fill(Parts parts, std::shared_ptr<const Log> log) {
    BundleReader reader;
    reader.folder_ = std::move(front_.folder_);
    reader.client_pinned_ = front_.client_pinned_;
    reader.job_toml_ = std::move(front_.job_toml_);
    reader.engagement_ = std::move(front_.engagement_);
    reader.transcript_ = std::move(parts.transcript.transcript);
    reader.heads_ = std::move(parts.heads.heads);
    reader.manifest_ = std::move(front_.manifest_);
    reader.checkpoints_ = checkpoints_in(front_.listing_);
    reader.checkpoint_bytes_ = limits_.checkpoint_bytes;
    reader.log_ = std::move(log);
    if (!reader.finished() && !reader.heads_.empty()) reader.covered_ = covered(reader, parts.heads.good_bytes);
    return reader;
  }

  static BundleReader::Covered covered(const BundleReader& reader, uint64_t heads_bytes) {
    const verify::Transcript& transcript = reader.transcript_;
    BundleReader::Covered c{transcript_header(transcript.rules()).size(), heads_bytes, {}};
    for (uint64_t i = 0; i < reader.heads_.back().tree.size; ++i) {
      c.transcript_bytes += kRecordOverhead + verify::encode(transcript.leaf(i)).size();
      c.tree.append(transcript.leaf_hashes()[i]);
    }
    return c;
  }

  BundleFront front_;
  const RunLimits& limits_;
  const Checkpoints checkpoints_;
};

Expected<BundleReader> BundleReader::open(BundleFront front, const RunLimits& limits, Checkpoints checkpoints) {
  return BundleOpener(std::move(front), limits, checkpoints).open();
}

Status BundleReader::require_finished() const {
  if (finished()) return {};
  return unreadable(text_of(folder_.string(), ": the run is unfinished (", transcript_.steps(), " of ",
                            transcript_.rules().steps, " steps); resume it first"));
}

Expected<CheckpointFile> BundleReader::open_checkpoint(uint64_t step) const {
  const std::string name = text_of(kCheckpointFolder, "/", checkpoint_name(step));
  if (!std::binary_search(checkpoints_.begin(), checkpoints_.end(), step)) {
    return unreadable(text_of(name_in(folder_, name), ": is missing; this run keeps other steps"));
  }
  if (!manifest_) {
    return CheckpointFile::open(folder_ / name, checkpoint_bytes_, [](const FileEntry&) { return Status(); });
  }
  const auto check = [folder = folder_, name, manifest = *manifest_](const FileEntry& found) {
    return check_entry(folder, name, found, manifest);
  };
  return or_rejected(CheckpointFile::open(folder_ / name, manifest_->files.at(name).size, check));
}

Expected<Bytes> BundleReader::read_log_segment(uint64_t step) const {
  const std::string what = name_in(folder_, kLogFile);
  if (log_ == nullptr) return usage_error(text_of(what, ": this run has no log; its job is not logged"));
  return log_->read(transcript_, step, what, finished() ? Checksums::kTrust : Checksums::kCompare);
}

Status BundleReader::compare_log() const {
  if (log_ == nullptr || !manifest_) return {};
  ISOBIT_TRY(const FileEntry found, or_rejected(digest_of_file(log_->file)));
  return check_entry(folder_, kLogFile, found, *manifest_);
}

}  // namespace isobit::bundle
