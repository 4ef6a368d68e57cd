// How a run is begun, and how it is taken up again after a kill, a power failure or damage on the disk.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/parts_internal.h"
#include "isobit/bundle/record_file.h"
#include "isobit/bundle/writer_internal.h"

namespace isobit::bundle {
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
  std::map<uint64_t, commit::Digest> promised;
};

Expected<Stored> read_stored(const fs::path& folder) {
  ISOBIT_TRY(Bytes job_toml, read_plain_file(folder / kJobFile, kMaxJobBytes));
  ISOBIT_TRY(const Bytes signed_terms, read_plain_file(folder / kEngagementFile, verify::kMaxEngagementBytes));
  ISOBIT_TRY(verify::Engagement engagement, verify::decode_engagement(signed_terms, name_in(folder, kEngagementFile)));
  ISOBIT_RETURN_IF_ERROR(check_engagement(engagement, {}, folder));
  ISOBIT_TRY(const Bytes leaves, read_plain_file(folder / kTranscriptFile, kMaxRecordFileBytes));
  ISOBIT_TRY(TranscriptFile transcript, decode_transcript_file(leaves, name_in(folder, kTranscriptFile)));
  ISOBIT_TRY(const Bytes signatures, read_plain_file(folder / kHeadsFile, kMaxRecordFileBytes));
  ISOBIT_TRY(HeadsFile heads, decode_heads_file(signatures, name_in(folder, kHeadsFile)));
  return Stored{std::move(job_toml), std::move(engagement), {std::move(transcript), std::move(heads)}, {}};
}

// Every head that can still be read, those behind a damaged record included, with the roots of those leaves that are
// there. What a head covers and is not there is computed again and must lead to it.
Status check_heads(Stored& run, const fs::path& folder) {
  const std::string what = name_in(folder, kHeadsFile);
  const verify::Transcript& leaves = run.parts.transcript.transcript;
  std::vector<verify::SignedHead> heads = run.parts.heads.heads;
  heads.insert(heads.end(), run.parts.heads.behind.begin(), run.parts.heads.behind.end());
  const auto beyond =
      std::ranges::find_if(heads, [&](const verify::SignedHead& head) { return head.tree.size > leaves.size(); });
  const auto covered = static_cast<size_t>(beyond - heads.begin());
  ISOBIT_RETURN_IF_ERROR(verify::verify_heads(std::span(heads).first(covered), run.engagement, leaves, what));
  for (size_t i = covered; i < heads.size(); ++i) {
    ISOBIT_RETURN_IF_ERROR(verify::verify_head(heads[i], run.engagement));
    if (i > 0 && heads[i].tree.size <= heads[i - 1].tree.size) {
      return rejected(text_of(what, ": head ", i, " has ", heads[i].tree.size, " leaves, the one before it ",
                              heads[i - 1].tree.size, "; heads must grow"));
    }
  }
  for (const verify::SignedHead& head : heads) run.promised[head.tree.size] = head.tree.root;
  return {};
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

// Of the checkpoints that are there. A kill may leave a record whose checkpoint was not written, or was removed
// already.
Expected<CheckpointIndex> read_index(const fs::path& folder, const Listing& listing,
                                     const std::vector<uint64_t>& checkpoints) {
  if (!listing.has(kCheckpointIndexFile)) return CheckpointIndex{};
  const auto bytes = read_plain_file(folder / kCheckpointIndexFile, kMaxCheckpointIndexBytes);
  if (!bytes && bytes.error().code == ErrorCode::kUnavailable) return tl::unexpected<Error>(bytes.error());
  if (!bytes) return CheckpointIndex{};
  CheckpointIndex index = decode_checkpoint_index(*bytes);
  std::erase_if(index,
                [&](const auto& record) { return std::ranges::find(checkpoints, record.first) == checkpoints.end(); });
  return index;
}

}  // namespace

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
  ISOBIT_RETURN_IF_ERROR(check_free(folder));  // again: another process may have made it meanwhile
  ISOBIT_RETURN_IF_ERROR(remove_temporaries(folder));
  if (Status written = write_beginnings(folder, job_toml, engagement, rules); !written) {
    remove_beginnings(folder, made);
    return tl::unexpected<Error>(std::move(written).error());
  }
  std::optional<LogFileWriter> log;
  if (rules.logged) {
    ISOBIT_TRY(ReadFile file, ReadFile::open(folder / kLogFile));
    ISOBIT_TRY(log, LogFileWriter::open(folder / kLogFile, {std::move(file), {}}));
  }
  ISOBIT_TRY(AppendFile transcript, AppendFile::open(folder / kTranscriptFile, transcript_header(rules).size()));
  ISOBIT_TRY(AppendFile heads, AppendFile::open(folder / kHeadsFile, heads_header().size()));
  BundleWriter writer(std::unique_ptr<Impl>(new Impl{folder,
                                                     trainer,
                                                     Bytes(job_toml.begin(), job_toml.end()),
                                                     engagement,
                                                     verify::Transcript(rules),
                                                     0,
                                                     {},
                                                     {},
                                                     {},
                                                     std::move(transcript),
                                                     std::move(heads),
                                                     std::move(lock),
                                                     std::move(log)}));
  writer.impl_->made_folder = made;
  return writer;
}

void BundleWriter::discard() {
  ISOBIT_CHECK(impl_->stored.size() == 0);
  remove_beginnings(impl_->folder, impl_->made_folder);
  impl_->lock.close();
}

Expected<BundleWriter> BundleWriter::resume(const fs::path& folder, const commit::SecretKey& trainer) {
  ISOBIT_RETURN_IF_ERROR(check_resumable(folder));
  ISOBIT_TRY(Descriptor lock, lock_bundle(folder));
  ISOBIT_RETURN_IF_ERROR(check_resumable(folder));  // again: the run may have ended before the lock was ours
  ISOBIT_TRY(Stored run, read_stored(folder));
  Parts& parts = run.parts;
  ISOBIT_RETURN_IF_ERROR(check_initial(parts, run.engagement, folder));
  ISOBIT_RETURN_IF_ERROR(check_heads(run, folder));
  ISOBIT_RETURN_IF_ERROR(check_engaged(folder, run.engagement, trainer));
  ISOBIT_TRY(const Listing listing, list_bundle(folder));
  ISOBIT_RETURN_IF_ERROR(check_log_presence(parts.transcript.transcript.rules().logged, listing, folder));
  std::optional<LogFileWriter> log;
  if (parts.transcript.transcript.rules().logged) {
    ISOBIT_TRY(Log stored, salvage_log(parts, folder));
    ISOBIT_TRY(log, LogFileWriter::open(folder / kLogFile, std::move(stored)));
  }
  ISOBIT_TRY(std::vector<uint64_t> checkpoints, clean(folder, listing, parts.transcript.transcript));
  ISOBIT_TRY(CheckpointIndex index, read_index(folder, listing, checkpoints));
  ISOBIT_RETURN_IF_ERROR(make_folder(folder / kCheckpointFolder));
  ISOBIT_TRY(AppendFile transcript, AppendFile::open(folder / kTranscriptFile, parts.transcript.good_bytes));
  ISOBIT_TRY(AppendFile heads, AppendFile::open(folder / kHeadsFile, parts.heads.good_bytes));
  const uint64_t head_size = parts.heads.heads.empty() ? 0 : parts.heads.heads.back().tree.size;
  return BundleWriter(std::unique_ptr<Impl>(
      new Impl{folder, trainer, std::move(run.job_toml), std::move(run.engagement),
               std::move(parts.transcript.transcript), head_size, std::move(run.promised), std::move(checkpoints),
               std::move(index), std::move(transcript), std::move(heads), std::move(lock), std::move(log)}));
}

}  // namespace isobit::bundle
