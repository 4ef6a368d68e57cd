// The end of a run: everything is looked at once more before the manifest that signs for it is written.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/record_file.h"
#include "isobit/bundle/writer_internal.h"

namespace isobit::bundle {
namespace {

tl::unexpected<Error> changed(const fs::path& path) {
  return unavailable(text_of(path.string(), ": is not what was written there; the disk has changed it. Check the disk ",
                             "and resume the run: what is lost is computed again"));
}

// What the file of these leaves is, without building it.
FileEntry entry_of_transcript(const verify::Transcript& transcript) {
  const Bytes header = transcript_header(transcript.rules());
  commit::Sha256 hash;
  hash.update(header);
  FileEntry entry;
  entry.size = header.size();
  for (uint64_t i = 0; i < transcript.size(); ++i) {
    const Bytes record = encode_record(verify::encode(transcript.leaf(i)));
    hash.update(record);
    entry.size += record.size();
  }
  entry.sha256 = hash.digest();
  return entry;
}

}  // namespace

Status BundleWriter::Impl::drop_uncommitted_checkpoints() {
  const std::vector<uint64_t> steps = checkpoints;
  for (uint64_t step : steps) {
    if (!stored.committed_state(step)) ISOBIT_RETURN_IF_ERROR(drop_checkpoint(step));
  }
  return {};
}

Status BundleWriter::Impl::check_heads_file() const {
  const fs::path path = folder / kHeadsFile;
  ISOBIT_TRY(const Bytes bytes, read_plain_file(path, kMaxRecordFileBytes));
  const auto heads = decode_heads_file(bytes, path.string());
  if (!heads || !heads->torn.empty()) return changed(path);
  if (!verify::verify_heads(heads->heads, engagement, stored, path.string())) return changed(path);
  if (heads->heads.empty() || heads->heads.back().tree.size != stored.size()) return changed(path);
  const Status often = verify::verify_cadence(heads->heads, engagement.terms.head_every, stored, path.string());
  return often ? Status{} : usage_error(often.error().message);
}

Expected<FileEntry> BundleWriter::Impl::check_log_file() const {
  const fs::path path = folder / kLogFile;
  ISOBIT_TRY(const ReadFile file, ReadFile::open(path));
  auto scanner = LogScanner::begin(file, path.string());
  if (!scanner) return changed(path);
  Bytes segment;
  for (uint64_t step = 1; step <= stored.steps(); ++step) {
    ISOBIT_TRY(const bool whole, scanner->next(segment));
    if (!whole) return changed(path);
  }
  if (scanner->index().bytes() != file.size()) return changed(path);
  return FileEntry{file.size(), scanner->digest()};
}

// The entry for the manifest, if the file is what it was when it was written.
Expected<FileEntry> BundleWriter::Impl::check_file(const std::string& name) const {
  if (name == kLogFile) return check_log_file();
  ISOBIT_TRY(const FileEntry found, digest_of_file(folder / name, kMaxCheckpointBytes));
  FileEntry expected = found;
  if (name == kJobFile) expected = entry_of(job_toml);
  if (name == kEngagementFile) expected = entry_of(verify::encode(engagement));
  if (name == kTranscriptFile) expected = entry_of_transcript(stored);
  if (name == kHeadsFile) ISOBIT_RETURN_IF_ERROR(check_heads_file());
  if (name.starts_with(kCheckpointFolder)) {
    const auto step = checkpoint_step(std::string_view(name).substr(kCheckpointFolder.size() + 1));
    const auto record = step ? index.find(*step) : index.end();
    if (record != index.end()) expected = record->second.file;
  }
  if (found != expected) return changed(folder / name);
  return found;
}

// What a finished run must have, whatever the folder says that it has.
std::vector<std::string> BundleWriter::Impl::owed_files() const {
  std::vector<std::string> names = {std::string(kJobFile), std::string(kEngagementFile), std::string(kTranscriptFile),
                                    std::string(kHeadsFile)};
  if (log) names.emplace_back(kLogFile);
  for (const uint64_t step : checkpoints) names.push_back(text_of(kCheckpointFolder, "/", checkpoint_name(step)));
  return names;
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
    if (name == kLockFile || name == kManifestSignatureFile || name == kCheckpointIndexFile) continue;
    if (!is_bundle_file(name)) foreign = name;
  }
  if (!foreign.empty()) {
    return usage_error(text_of((folder / foreign).string(),
                               ": does not belong to the run; move it out of the folder "
                               "and resume the run to finish it"));
  }
  for (const auto& [name, size] : listing.files) {
    if (!is_bundle_file(name)) continue;
    ISOBIT_TRY(out.files[name], check_file(name));
  }
  for (const std::string& name : owed_files()) {
    if (!out.files.contains(name)) return changed(folder / name);
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
  // What it was for is in the manifest from now on; until that is there, committed roots vouch for the checkpoints.
  ISOBIT_RETURN_IF_ERROR(remove_file(run.folder / kCheckpointIndexFile));
  const ManifestSignature signature = sign_manifest(bytes, manifest.job_root, manifest.run_id, run.trainer);
  ISOBIT_RETURN_IF_ERROR(write_file_durably(run.folder / kManifestSignatureFile, encode(signature)));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(run.folder / kManifestFile, bytes));
  run.finished = true;
  ISOBIT_RETURN_IF_ERROR(remove_file(run.folder / kLockFile));
  run.lock.close();
  return {};
}

}  // namespace isobit::bundle
