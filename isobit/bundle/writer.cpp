#include "isobit/bundle/writer.h"

#include <algorithm>
#include <optional>

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/log_file.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/parts_internal.h"
#include "isobit/bundle/record_file.h"

namespace isobit::bundle {

struct BundleWriter::Impl {
  fs::path folder;
  commit::SecretKey trainer;
  Bytes job_toml;
  verify::Engagement engagement;
  verify::Transcript stored;
  uint64_t position = 0;
  uint64_t head_size = 0;             // leaves that the newest head covers
  std::vector<uint64_t> checkpoints;  // newest first
  AppendFile transcript_file;
  AppendFile heads_file;
  Descriptor lock;
  bool finished = false;
  std::optional<LogWriter> log;  // present iff the job is logged

  fs::path checkpoint_path(uint64_t step) const { return folder / kCheckpointFolder / checkpoint_name(step); }
  Status writable() const {
    if (finished) return usage_error(text_of(folder.string(), ": the run is finished, nothing can be added"));
    return {};
  }
  Status store(const verify::Leaf& leaf, const ByteView* log_segment);
  Status check_segment(const verify::Leaf& leaf, const ByteView* log_segment) const;
  // A leaf on the disk whose segment is not there would be of no use.
  Status sync_leaves() {
    if (log) ISOBIT_RETURN_IF_ERROR(log->sync());
    return transcript_file.sync();
  }
  Status drop_uncommitted_checkpoints();
  Expected<Manifest> manifest(const std::map<std::string, std::string>& facts) const;
};

namespace {

Status check_free(const fs::path& folder) {
  switch (run_state(folder)) {
    case RunState::kAbsent:
    case RunState::kNotBegun:
      return {};
    case RunState::kFinished:
      return usage_error(text_of(folder.string(), ": holds a finished run; choose another folder or remove this one"));
    case RunState::kUnfinished:
      return usage_error(
          text_of(folder.string(), ": holds an unfinished run; resume it, choose another folder or remove this one"));
    case RunState::kForeign:
      break;
  }
  return usage_error(text_of(folder.string(), ": is not an empty folder; choose another one"));
}

Status check_resumable(const fs::path& folder) {
  switch (run_state(folder)) {
    case RunState::kUnfinished:
      return {};
    case RunState::kFinished:
      return usage_error(text_of(folder.string(), ": the run is finished, there is nothing to resume"));
    case RunState::kAbsent:
    case RunState::kNotBegun:
      return usage_error(text_of(folder.string(), ": no run has begun there; start it without resuming"));
    case RunState::kForeign:
      break;
  }
  return unreadable(text_of(folder.string(), ": is not a run"));
}

Status check_engaged(const fs::path& folder, const verify::Engagement& engagement, const commit::SecretKey& trainer) {
  if (engagement.engages(trainer.public_key())) return {};
  return usage_error(text_of(folder.string(), ": the key ", commit::hex_of(trainer.public_key()),
                             " is not engaged for this run; use the trainer's key of the engagement"));
}

// Everything create() wrote, when it failed half-way.
void remove_beginnings(const fs::path& folder, bool folder_too) {
  std::error_code ignored;
  fs::remove(folder / kCheckpointFolder, ignored);
  for (std::string_view name :
       {kTranscriptFile, kLogFile, kLogFolder, kHeadsFile, kEngagementFile, kJobFile, kLockFile}) {
    fs::remove(folder / name, ignored);
  }
  if (folder_too) fs::remove(folder, ignored);
}

// An attempt at a logged job may have left the folder where a job without log begins now.
Status prepare_log(const fs::path& folder, bool logged) {
  if (logged) {
    ISOBIT_RETURN_IF_ERROR(make_folder(folder / kLogFolder));
    return write_file_durably(folder / kLogFile, log_header());
  }
  std::error_code error;
  fs::remove_all(folder / kLogFolder, error);
  if (error) return unavailable(text_of((folder / kLogFolder).string(), ": cannot remove: ", error.message()));
  return {};
}

// What a process left that was killed while it made the folder.
Status remove_temporaries(const fs::path& folder) {
  ISOBIT_TRY(const Listing listing, list_bundle(folder));
  for (const auto& [name, size] : listing.files) {
    if (is_temporary(name)) ISOBIT_RETURN_IF_ERROR(remove_file(folder / name));
  }
  return {};
}

// The transcript comes last: with it the run has begun.
Status write_beginnings(const fs::path& folder, ByteView job_toml, const verify::Engagement& engagement,
                        const verify::TranscriptRules& rules) {
  ISOBIT_RETURN_IF_ERROR(make_folder(folder / kCheckpointFolder));
  ISOBIT_RETURN_IF_ERROR(prepare_log(folder, rules.logged));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(folder / kJobFile, job_toml));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(folder / kEngagementFile, verify::encode(engagement)));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(folder / kHeadsFile, heads_header()));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(folder / kTranscriptFile, transcript_header(rules)));
  const fs::path parent = fs::absolute(folder).lexically_normal().parent_path();
  return sync_folder(parent.empty() ? fs::path("/") : parent);
}

struct Stored {
  Bytes job_toml;
  verify::Engagement engagement;
  Parts parts;
};

Expected<Stored> read_stored(const fs::path& folder) {
  ISOBIT_TRY(Bytes job_toml, read_plain_file(folder / kJobFile, kMaxJobBytes));
  ISOBIT_TRY(const Bytes signed_terms, read_plain_file(folder / kEngagementFile, kMaxEngagementBytes));
  ISOBIT_TRY(verify::Engagement engagement, verify::decode_engagement(signed_terms, name_in(folder, kEngagementFile)));
  ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(engagement, engagement.terms.client_key));
  ISOBIT_TRY(const Bytes leaves, read_plain_file(folder / kTranscriptFile, kMaxRecordFileBytes));
  ISOBIT_TRY(TranscriptFile transcript, decode_transcript_file(leaves, name_in(folder, kTranscriptFile)));
  ISOBIT_TRY(const Bytes signatures, read_plain_file(folder / kHeadsFile, kMaxRecordFileBytes));
  ISOBIT_TRY(HeadsFile heads, decode_heads_file(signatures, name_in(folder, kHeadsFile)));
  return Stored{std::move(job_toml), std::move(engagement), {std::move(transcript), std::move(heads)}};
}

// Removes temporaries, a signature whose manifest was not written, and checkpoints of steps the transcript lost.
// Returns the steps of the checkpoints that stay, newest first.
Expected<std::vector<uint64_t>> clean(const fs::path& folder, const Listing& listing,
                                      const verify::Transcript& transcript) {
  const std::string inside = std::string(kCheckpointFolder) + "/";
  std::vector<uint64_t> steps;
  for (const auto& [name, size] : listing.files) {
    bool remove = is_temporary(name) || name == kManifestSignatureFile;
    if (name.starts_with(inside)) {
      if (const auto step = checkpoint_step(std::string_view(name).substr(inside.size()))) {
        remove = transcript.size() == 0 || *step > transcript.steps();
        if (!remove) steps.push_back(*step);
      }
    }
    if (remove) ISOBIT_RETURN_IF_ERROR(remove_file(folder / name));
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

}  // namespace

BundleWriter::BundleWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BundleWriter::BundleWriter(BundleWriter&&) noexcept = default;
BundleWriter& BundleWriter::operator=(BundleWriter&&) noexcept = default;
BundleWriter::~BundleWriter() = default;

Expected<BundleWriter> BundleWriter::create(const fs::path& folder, ByteView job_toml,
                                            const verify::Engagement& engagement, const verify::TranscriptRules& rules,
                                            const commit::SecretKey& trainer) {
  ISOBIT_RETURN_IF_ERROR(check_free(folder));
  ISOBIT_RETURN_IF_ERROR(check_engaged(folder, engagement, trainer));
  if (const Status fits = rules.check("job"); !fits) return usage_error(fits.error().message);
  if (job_toml.size() > kMaxJobBytes) {
    return usage_error(
        text_of("job: is ", human_bytes(job_toml.size()), ", expected at most ", human_bytes(kMaxJobBytes)));
  }
  std::error_code ignored;
  const bool made = !fs::exists(folder, ignored);
  ISOBIT_RETURN_IF_ERROR(make_folder(folder));
  ISOBIT_TRY(Descriptor lock, lock_bundle(folder));
  ISOBIT_RETURN_IF_ERROR(check_free(folder));  // again: somebody may have been faster
  ISOBIT_RETURN_IF_ERROR(remove_temporaries(folder));
  if (Status written = write_beginnings(folder, job_toml, engagement, rules); !written) {
    remove_beginnings(folder, made);
    return tl::unexpected<Error>(std::move(written).error());
  }
  std::optional<LogWriter> log;
  if (rules.logged) {
    ISOBIT_TRY(ReadFile file, ReadFile::open(folder / kLogFile));
    ISOBIT_TRY(log, LogWriter::open(folder / kLogFile, {std::move(file), {}}));
  }
  ISOBIT_TRY(AppendFile transcript, AppendFile::open(folder / kTranscriptFile, transcript_header(rules).size()));
  ISOBIT_TRY(AppendFile heads, AppendFile::open(folder / kHeadsFile, heads_header().size()));
  return BundleWriter(std::unique_ptr<Impl>(new Impl{folder,
                                                     trainer,
                                                     Bytes(job_toml.begin(), job_toml.end()),
                                                     engagement,
                                                     verify::Transcript(rules),
                                                     0,
                                                     0,
                                                     {},
                                                     std::move(transcript),
                                                     std::move(heads),
                                                     std::move(lock),
                                                     false,
                                                     std::move(log)}));
}

Expected<BundleWriter> BundleWriter::resume(const fs::path& folder, const commit::SecretKey& trainer) {
  ISOBIT_RETURN_IF_ERROR(check_resumable(folder));
  ISOBIT_TRY(Descriptor lock, lock_bundle(folder));
  ISOBIT_RETURN_IF_ERROR(check_resumable(folder));  // again: the run may have ended before the lock was ours
  ISOBIT_TRY(Stored run, read_stored(folder));
  Parts& parts = run.parts;
  // Also where more than the torn end is lost: heads that cover missing leaves are rejected here.
  ISOBIT_RETURN_IF_ERROR(check_parts(parts, run.engagement, folder));
  ISOBIT_RETURN_IF_ERROR(check_engaged(folder, run.engagement, trainer));
  ISOBIT_TRY(const Listing listing, list_bundle(folder));
  ISOBIT_RETURN_IF_ERROR(check_log_presence(parts.transcript.transcript.rules().logged, listing, folder));
  std::optional<LogWriter> log;
  if (parts.transcript.transcript.rules().logged) {
    ISOBIT_TRY(Log stored, open_unfinished_log(parts, folder));
    ISOBIT_TRY(log, LogWriter::open(folder / kLogFile, std::move(stored)));
  }
  ISOBIT_TRY(std::vector<uint64_t> checkpoints, clean(folder, listing, parts.transcript.transcript));
  ISOBIT_RETURN_IF_ERROR(make_folder(folder / kCheckpointFolder));
  ISOBIT_TRY(AppendFile transcript, AppendFile::open(folder / kTranscriptFile, parts.transcript.good_bytes));
  ISOBIT_TRY(AppendFile heads, AppendFile::open(folder / kHeadsFile, parts.heads.good_bytes));
  const uint64_t head_size = parts.heads.heads.empty() ? 0 : parts.heads.heads.back().tree.size;
  return BundleWriter(
      std::unique_ptr<Impl>(new Impl{folder, trainer, std::move(run.job_toml), std::move(run.engagement),
                                     std::move(parts.transcript.transcript), 0, head_size, std::move(checkpoints),
                                     std::move(transcript), std::move(heads), std::move(lock), false, std::move(log)}));
}

const Bytes& BundleWriter::job_toml() const { return impl_->job_toml; }
const verify::Engagement& BundleWriter::engagement() const { return impl_->engagement; }
const verify::Transcript& BundleWriter::transcript() const { return impl_->stored; }
const std::vector<uint64_t>& BundleWriter::checkpoints() const { return impl_->checkpoints; }
uint64_t BundleWriter::position() const { return impl_->position; }

Expected<Bytes> BundleWriter::read_checkpoint(uint64_t step) const {
  return read_plain_file(impl_->checkpoint_path(step), kMaxCheckpointBytes);
}

Status BundleWriter::continue_from(uint64_t step) {
  const verify::Transcript& stored = impl_->stored;
  if (stored.size() == 0 || step > stored.steps()) {
    return usage_error(text_of(impl_->folder.string(), ": cannot continue from step ", step, ": ", stored.size(),
                               " leaves are stored"));
  }
  impl_->position = step + 1;
  // The checkpoint may have come through where the head of its step did not.
  const bool due = verify::head_is_due(stored.rules(), impl_->engagement.terms.head_every, step);
  return due ? sign_head() : Status{};
}

Expected<Bytes> BundleWriter::read_log_segment(uint64_t step) const {
  const std::string what = (impl_->folder / kLogFile).string();
  if (!impl_->log) return usage_error(text_of(what, ": this run has no log; its job is not logged"));
  return impl_->log->log().read(impl_->stored, step, what);
}

Status BundleWriter::append(const verify::Leaf& leaf) { return impl_->store(leaf, nullptr); }

Status BundleWriter::append(const verify::StepLeaf& leaf, ByteView log_segment) {
  return impl_->store(leaf, &log_segment);
}

Status BundleWriter::Impl::check_segment(const verify::Leaf& leaf, const ByteView* log_segment) const {
  const auto* step = std::get_if<verify::StepLeaf>(&leaf);
  const bool expected = stored.rules().logged && step != nullptr;
  if (expected != (log_segment != nullptr)) {
    return usage_error(text_of(folder.string(), ": ", verify::describe(leaf), " came with", expected ? "out its" : " a",
                               " log segment"));
  }
  return {};
}

Status BundleWriter::Impl::store(const verify::Leaf& leaf, const ByteView* log_segment) {
  ISOBIT_RETURN_IF_ERROR(writable());
  ISOBIT_RETURN_IF_ERROR(stored.fits(leaf, position));
  ISOBIT_RETURN_IF_ERROR(check_segment(leaf, log_segment));
  const auto* initial = std::get_if<verify::InitialLeaf>(&leaf);
  if (initial != nullptr && initial->job_root != engagement.terms.job_root) {
    return rejected(text_of(folder.string(), ": field 'job_root': the run has ", commit::hex_of(initial->job_root),
                            ", the engagement ", commit::hex_of(engagement.terms.job_root)));
  }
  if (position < stored.size()) {
    if (leaf != stored.leaf(position)) {
      return rejected(text_of(folder.string(), ": this machine did not reproduce its own run: ", verify::describe(leaf),
                              " differs from the stored one; check the memory, the data and "
                              "the build, or start the run anew in another folder"));
    }
    ++position;
    return {};
  }
  if (log_segment != nullptr) ISOBIT_RETURN_IF_ERROR(log->append(position, *log_segment));
  ISOBIT_RETURN_IF_ERROR(transcript_file.append(encode_record(verify::encode(leaf))));
  ISOBIT_RETURN_IF_ERROR(stored.append(leaf));
  ++position;
  return {};
}

Status BundleWriter::sign_head() {
  Impl& run = *impl_;
  ISOBIT_RETURN_IF_ERROR(run.writable());
  if (run.position <= run.head_size) return {};
  // In this order: a head on the disk never speaks of leaves that a power failure can take away.
  ISOBIT_RETURN_IF_ERROR(run.sync_leaves());
  const verify::SignedHead head =
      verify::sign_head(run.stored.sized_root(run.position), run.engagement.terms, run.trainer);
  ISOBIT_RETURN_IF_ERROR(run.heads_file.append(encode_record(verify::encode(head))));
  ISOBIT_RETURN_IF_ERROR(run.heads_file.sync());
  run.head_size = run.position;
  return {};
}

Status BundleWriter::write_checkpoint(uint64_t step, ByteView safetensors, uint64_t keep) {
  Impl& run = *impl_;
  ISOBIT_RETURN_IF_ERROR(run.writable());
  ISOBIT_CHECK(step < run.position && step <= run.stored.steps());
  ISOBIT_RETURN_IF_ERROR(run.sync_leaves());
  ISOBIT_RETURN_IF_ERROR(write_file_durably(run.checkpoint_path(step), safetensors));
  auto& steps = run.checkpoints;
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
    steps.insert(std::upper_bound(steps.begin(), steps.end(), step, std::greater<>()), step);
  }
  keep = keep == 0 ? kMaxCheckpoints : std::min(keep, kMaxCheckpoints);
  while (steps.size() > keep) {
    ISOBIT_RETURN_IF_ERROR(remove_file(run.checkpoint_path(steps.back())));
    steps.pop_back();
  }
  return {};
}

Status BundleWriter::Impl::drop_uncommitted_checkpoints() {
  for (size_t i = checkpoints.size(); i-- > 0;) {
    const uint64_t step = checkpoints[i];
    if (stored.committed_state(step)) continue;
    ISOBIT_RETURN_IF_ERROR(remove_file(checkpoint_path(step)));
    checkpoints.erase(checkpoints.begin() + static_cast<ptrdiff_t>(i));
  }
  return {};
}

Expected<Manifest> BundleWriter::Impl::manifest(const std::map<std::string, std::string>& facts) const {
  Manifest out;
  out.job_root = engagement.terms.job_root;
  out.run_id = engagement.terms.run_id;
  out.transcript_root = stored.transcript_root();
  out.facts = facts;
  ISOBIT_TRY(const Listing listing, list_bundle(folder));
  std::string foreign = listing.odd;
  if (!log && listing.log_folder) foreign = kLogFolder;
  for (const auto& [name, size] : listing.files) {
    if (name == kLockFile || name == kManifestSignatureFile) continue;
    if (!is_bundle_file(name)) foreign = name;
  }
  if (!foreign.empty()) {
    return usage_error(text_of((folder / foreign).string(),
                               ": does not belong to the run; move it out of the folder "
                               "and resume the run to finish it"));
  }
  for (const auto& [name, size] : listing.files) {
    if (name == kLockFile || name == kManifestSignatureFile) continue;
    ISOBIT_TRY(out.files[name], digest_of_file(folder / name, kMaxLogBytes));
  }
  return out;
}

Status BundleWriter::finish(const std::map<std::string, std::string>& facts) {
  Impl& run = *impl_;
  ISOBIT_RETURN_IF_ERROR(run.writable());
  if (!run.stored.complete() || run.position != run.stored.size()) {
    return usage_error(text_of(run.folder.string(), ": cannot finish after ", run.position, " of ",
                               run.stored.rules().leaves(), " leaves"));
  }
  const uint64_t last = run.stored.rules().steps;
  if (std::find(run.checkpoints.begin(), run.checkpoints.end(), last) == run.checkpoints.end()) {
    return usage_error(text_of(run.folder.string(), ": cannot finish without the checkpoint of step ", last));
  }
  ISOBIT_RETURN_IF_ERROR(sign_head());
  ISOBIT_RETURN_IF_ERROR(run.drop_uncommitted_checkpoints());
  // A head that was handed over before a kill may not be durable yet.
  ISOBIT_RETURN_IF_ERROR(run.sync_leaves());
  ISOBIT_RETURN_IF_ERROR(run.heads_file.sync());
  ISOBIT_TRY(const Manifest manifest, run.manifest(facts));
  const Bytes bytes = encode(manifest);
  if (bytes.size() > kMaxManifestBytes) {
    return usage_error(text_of("manifest: would be ", human_bytes(bytes.size()), ", more than the ",
                               human_bytes(kMaxManifestBytes), " one may have; give it fewer or shorter facts"));
  }
  if (const auto back = decode_manifest(bytes, "manifest"); !back || *back != manifest) {
    return usage_error("manifest: the facts of the run are not UTF-8 text");
  }
  const ManifestSignature signature = sign_manifest(bytes, manifest.job_root, manifest.run_id, run.trainer);
  ISOBIT_RETURN_IF_ERROR(write_file_durably(run.folder / kManifestSignatureFile, encode(signature)));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(run.folder / kManifestFile, bytes));
  run.finished = true;
  ISOBIT_RETURN_IF_ERROR(remove_file(run.folder / kLockFile));
  run.lock.close();
  return {};
}

}  // namespace isobit::bundle
