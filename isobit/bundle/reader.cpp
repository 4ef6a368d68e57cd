#include "isobit/bundle/reader.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/parts_internal.h"

namespace isobit::bundle {
namespace {

// In a finished run everything is signed for, so what cannot be decoded is not merely unreadable.
template <class T>
Expected<T> or_rejected(Expected<T> value) {
  if (!value) return rejected(std::move(value).error().message);
  return value;
}

std::string name_in(const fs::path& folder, std::string_view file) { return (folder / file).string(); }

// That the folder holds what the manifest lists, no more and no less.
Status check_names(const fs::path& folder, const Listing& listing, const Manifest& manifest) {
  if (!listing.odd.empty()) {
    return rejected(text_of(name_in(folder, listing.odd), ": is not a plain file of a run"));
  }
  for (const auto& [name, size] : listing.files) {
    if (name == kManifestFile || name == kManifestSignatureFile) continue;
    if (name == kLockFile && size == 0) continue;  // left by a kill after the manifest was written
    if (!manifest.files.contains(name)) {
      return rejected(text_of(name_in(folder, name), ": is not in the manifest; a finished run holds nothing else"));
    }
  }
  for (std::string_view name : {kJobFile, kEngagementFile, kTranscriptFile, kHeadsFile}) {
    if (!manifest.files.contains(std::string(name))) {
      return rejected(text_of(name_in(folder, kManifestFile), ": does not list '", name, "'"));
    }
  }
  for (const auto& [name, entry] : manifest.files) {
    if (!is_bundle_file(name)) {
      return rejected(text_of(name_in(folder, kManifestFile), ": lists '", name, "', which no run has"));
    }
    const auto found = listing.files.find(name);
    if (found == listing.files.end()) {
      return rejected(text_of(name_in(folder, name), ": is missing; the manifest lists it"));
    }
    if (found->second != entry.size) {
      return rejected(
          text_of(name_in(folder, name), ": has ", found->second, " bytes, the manifest says ", entry.size));
    }
  }
  return {};
}

Status check_entry(const fs::path& folder, std::string_view name, const FileEntry& found, const Manifest& manifest) {
  const auto expected = manifest.files.find(std::string(name));
  if (expected != manifest.files.end() && expected->second == found) return {};
  const std::string claimed = expected == manifest.files.end() ? "nothing" : commit::hex_of(expected->second.sha256);
  return rejected(
      text_of(name_in(folder, name), ": has SHA-256 ", commit::hex_of(found.sha256), ", the manifest says ", claimed));
}

Status check_digests(const fs::path& folder, const RawParts& raw, const Manifest& manifest) {
  ISOBIT_RETURN_IF_ERROR(check_entry(folder, kJobFile, entry_of(raw.job_toml), manifest));
  ISOBIT_RETURN_IF_ERROR(check_entry(folder, kEngagementFile, entry_of(raw.engagement), manifest));
  ISOBIT_RETURN_IF_ERROR(check_entry(folder, kTranscriptFile, entry_of(raw.transcript), manifest));
  ISOBIT_RETURN_IF_ERROR(check_entry(folder, kHeadsFile, entry_of(raw.heads), manifest));
  for (const auto& [name, entry] : manifest.files) {
    if (!name.starts_with(kCheckpointFolder)) continue;
    ISOBIT_TRY(const FileEntry found, digest_of_file(folder / name));
    ISOBIT_RETURN_IF_ERROR(check_entry(folder, name, found, manifest));
  }
  return {};
}

Status check_signature(const fs::path& folder, ByteView manifest_bytes, const Manifest& manifest,
                       const verify::Engagement& engagement) {
  const std::string what = name_in(folder, kManifestSignatureFile);
  if (manifest.job_root != engagement.terms.job_root || manifest.run_id != engagement.terms.run_id) {
    return rejected(text_of(name_in(folder, kManifestFile), ": is of another job or run than the engagement"));
  }
  auto bytes = or_rejected(read_plain_file(folder / kManifestSignatureFile, kMaxEngagementBytes));
  if (!bytes) return tl::unexpected<Error>(std::move(bytes).error());
  ISOBIT_TRY(const ManifestSignature signature, or_rejected(decode_manifest_signature(*bytes, what)));
  if (!engagement.engages(signature.key)) {
    return rejected(
        text_of(what, ": field 'key': ", commit::hex_of(signature.key), " is not among the engaged trainer keys"));
  }
  return verify_manifest_signature(signature, manifest_bytes, manifest.job_root, manifest.run_id, what);
}

// What a finished transcript must be beyond what check_parts asks.
Status check_end(const fs::path& folder, const Parts& parts, const Manifest& manifest) {
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
  ISOBIT_RETURN_IF_ERROR(verify::verify_cadence(parts.heads.heads, parts.engagement.terms.head_every, transcript,
                                                name_in(folder, kHeadsFile)));
  if (manifest.transcript_root != transcript.transcript_root()) {
    return rejected(text_of(name_in(folder, kManifestFile), ": field 'transcript_root': found ",
                            commit::hex_of(manifest.transcript_root), ", the transcript gives ",
                            commit::hex_of(transcript.transcript_root())));
  }
  return {};
}

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

Status check_unfinished_names(const fs::path& folder, const Listing& listing) {
  if (!listing.odd.empty()) {
    return rejected(text_of(name_in(folder, listing.odd), ": is not a plain file of a run"));
  }
  for (const auto& [name, size] : listing.files) {
    if (is_bundle_file(name) || is_temporary(name) || name == kLockFile || name == kManifestSignatureFile) continue;
    return rejected(text_of(name_in(folder, name), ": does not belong to a run"));
  }
  return {};
}

}  // namespace

// Fills a reader; apart from it because the two kinds of run take different ways.
class BundleOpener {
 public:
  BundleOpener(const fs::path& folder, const OpenOptions& options) : folder_(folder), options_(options) {}

  Expected<BundleReader> open() {
    ISOBIT_TRY(listing_, list_bundle(folder_));
    if (listing_.has(kManifestFile)) return open_finished();
    if (listing_.has(kTranscriptFile)) return open_unfinished();
    if (run_begins()) {
      return unreadable(text_of(folder_.string(), ": the run was stopped before it began; start it again"));
    }
    return unreadable(text_of(folder_.string(), ": is not a bundle: it has neither '", kManifestFile, "' nor '",
                              kTranscriptFile, "'"));
  }

 private:
  bool run_begins() const { return listing_.has(kLockFile) && listing_.files.at(std::string(kLockFile)) == 0; }

  Expected<BundleReader> open_unfinished() {
    ISOBIT_RETURN_IF_ERROR(check_unfinished_names(folder_, listing_));
    ISOBIT_TRY(RawParts raw, read_parts(folder_));
    ISOBIT_TRY(Parts parts, decode_parts(raw, folder_));
    ISOBIT_RETURN_IF_ERROR(check_parts(parts, client_of(parts), folder_));
    ISOBIT_RETURN_IF_ERROR(check_log_presence(parts, listing_, folder_));
    std::shared_ptr<const Log> log;
    if (is_logged(parts)) {
      ISOBIT_TRY(Log found, open_unfinished_log(parts, folder_));
      log = std::make_shared<const Log>(std::move(found));
    }
    return fill(std::move(raw), std::move(parts), std::nullopt, std::move(log));
  }

  Expected<BundleReader> open_finished() {
    ISOBIT_TRY(const Bytes bytes, read_plain_file(folder_ / kManifestFile, kMaxManifestBytes));
    const std::string what = name_in(folder_, kManifestFile);
    auto decoded = decode_manifest(bytes, what);
    if (!decoded) {
      ISOBIT_RETURN_IF_ERROR(check_manifest_version(bytes, what));
      return rejected(std::move(decoded).error().message);
    }
    Manifest manifest = std::move(*decoded);
    ISOBIT_RETURN_IF_ERROR(check_names(folder_, listing_, manifest));
    ISOBIT_TRY(RawParts raw, read_parts(folder_));
    ISOBIT_RETURN_IF_ERROR(check_digests(folder_, raw, manifest));
    ISOBIT_TRY(Parts parts, or_rejected(decode_parts(raw, folder_)));
    ISOBIT_RETURN_IF_ERROR(check_parts(parts, client_of(parts), folder_));
    ISOBIT_RETURN_IF_ERROR(check_signature(folder_, bytes, manifest, parts.engagement));
    ISOBIT_RETURN_IF_ERROR(check_end(folder_, parts, manifest));
    ISOBIT_RETURN_IF_ERROR(check_log_presence(parts, listing_, folder_));
    std::shared_ptr<const Log> log;
    if (is_logged(parts)) {
      const FileEntry& entry = manifest.files.at(std::string(kLogFile));
      ISOBIT_TRY(Log found, or_rejected(open_finished_log(parts.transcript.transcript, entry, folder_)));
      log = std::make_shared<const Log>(std::move(found));
    }
    return fill(std::move(raw), std::move(parts), std::move(manifest), std::move(log));
  }

  commit::PublicKey client_of(const Parts& parts) const {
    return options_.client_key.value_or(parts.engagement.terms.client_key);
  }

  static bool is_logged(const Parts& parts) { return parts.transcript.transcript.rules().logged; }

  BundleReader fill(RawParts raw, Parts parts, std::optional<Manifest> manifest, std::shared_ptr<const Log> log) {
    BundleReader reader;
    reader.folder_ = folder_;
    reader.client_pinned_ = options_.client_key.has_value();
    reader.job_toml_ = std::move(raw.job_toml);
    reader.engagement_ = std::move(parts.engagement);
    reader.transcript_ = std::move(parts.transcript.transcript);
    reader.heads_ = std::move(parts.heads.heads);
    reader.manifest_ = std::move(manifest);
    reader.checkpoints_ = checkpoints_in(listing_);
    reader.log_ = std::move(log);
    return reader;
  }

  fs::path folder_;
  const OpenOptions& options_;
  Listing listing_;
};

Expected<BundleReader> BundleReader::open(const fs::path& folder, const OpenOptions& options) {
  return BundleOpener(folder, options).open();
}

Status BundleReader::require_finished() const {
  if (finished()) return {};
  return unreadable(text_of(folder_.string(), ": the run is unfinished (", transcript_.steps(), " of ",
                            transcript_.rules().steps, " steps); resume it first"));
}

Expected<Bytes> BundleReader::read_checkpoint(uint64_t step) const {
  const std::string name = text_of(kCheckpointFolder, "/", checkpoint_name(step));
  if (!std::binary_search(checkpoints_.begin(), checkpoints_.end(), step)) {
    return unreadable(text_of(name_in(folder_, name), ": is missing; this run keeps other steps"));
  }
  ISOBIT_TRY(Bytes bytes, read_plain_file(folder_ / name, kMaxCheckpointBytes));
  if (manifest_) ISOBIT_RETURN_IF_ERROR(check_entry(folder_, name, entry_of(bytes), *manifest_));
  return bytes;
}

Expected<Bytes> BundleReader::read_log_segment(uint64_t step) const {
  const std::string what = name_in(folder_, kLogFile);
  if (log_ == nullptr) return usage_error(text_of(what, ": this run has no log; its job is not logged"));
  return log_->read(transcript_, step, what);
}

}  // namespace isobit::bundle
