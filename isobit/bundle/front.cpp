#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/parts_internal.h"
#include "isobit/bundle/reader.h"

namespace isobit::bundle {
namespace {

// Engagement and signature come first, so they tell when the whole is of a newer version; another isobit may find it
// right.
template <class T>
Expected<T> or_rejected_unless_newer(Expected<T> value) {
  if (!value && is_newer_version(value.error())) return value;
  return or_rejected(std::move(value));
}

// That a finished run's folder holds only what a run has, and everything that every run has.
Status check_finished_names(const fs::path& folder, const Listing& listing) {
  if (!listing.odd.empty()) {
    return rejected(text_of(name_in(folder, listing.odd), ": is not a plain file of a run"));
  }
  for (const auto& [name, size] : listing.files) {
    if (is_bundle_file(name) || name == kManifestFile || name == kManifestSignatureFile) continue;
    if (name == kLockFile && size == 0) continue;  // left by a kill after the manifest was written
    return rejected(text_of(name_in(folder, name), ": does not belong to a finished run, which holds nothing else"));
  }
  for (std::string_view name : {kJobFile, kEngagementFile, kTranscriptFile, kHeadsFile, kManifestSignatureFile}) {
    if (!listing.has(name)) return rejected(text_of(name_in(folder, name), ": is missing; every finished run has it"));
  }
  return {};
}

Status check_unfinished_names(const fs::path& folder, const Listing& listing) {
  if (!listing.odd.empty()) {
    return rejected(text_of(name_in(folder, listing.odd), ": is not a plain file of a run"));
  }
  for (const auto& [name, size] : listing.files) {
    if (is_bundle_file(name) || is_temporary(name) || name == kLockFile || name == kManifestSignatureFile ||
        name == kCheckpointIndexFile) {
      continue;
    }
    return rejected(text_of(name_in(folder, name), ": does not belong to a run"));
  }
  return {};
}

// That the folder holds what the manifest lists, no more and no less.
Status check_listed(const fs::path& folder, const Listing& listing, const Manifest& manifest) {
  for (const auto& [name, size] : listing.files) {
    if (is_bundle_file(name) && !manifest.files.contains(name)) {
      return rejected(text_of(name_in(folder, name), ": is not in the manifest; a finished run holds nothing else"));
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

// Of the bytes, before anything in them is looked at.
Status check_signature(const fs::path& folder, const verify::Engagement& engagement, ByteView manifest,
                       ByteView signature_file) {
  const std::string what = name_in(folder, kManifestSignatureFile);
  ISOBIT_TRY(const ManifestSignature signature,
             or_rejected_unless_newer(decode_manifest_signature(signature_file, what)));
  if (!engagement.engages(signature.key)) {
    return rejected(
        text_of(what, ": field 'key': ", commit::hex_of(signature.key), " is not among the engaged trainer keys"));
  }
  return verify_manifest_signature(signature, manifest, engagement.terms.job_root, engagement.terms.run_id, what);
}

}  // namespace

Expected<SignedFront> open_signed_front(const fs::path& folder, ByteView engagement, ByteView manifest,
                                        ByteView signature, const OpenOptions& options) {
  SignedFront out;
  ISOBIT_TRY(out.engagement,
             or_rejected_unless_newer(verify::decode_engagement(engagement, name_in(folder, kEngagementFile))));
  const verify::EngagementTerms& terms = out.engagement.terms;
  ISOBIT_RETURN_IF_ERROR(check_engagement(out.engagement, options, folder));
  ISOBIT_RETURN_IF_ERROR(check_signature(folder, out.engagement, manifest, signature));
  const std::string what = name_in(folder, kManifestFile);
  ISOBIT_RETURN_IF_ERROR(check_manifest_version(manifest, what));
  ISOBIT_TRY(out.manifest, or_rejected(decode_manifest(manifest, what)));
  if (out.manifest.job_root != terms.job_root || out.manifest.run_id != terms.run_id) {
    return rejected(text_of(what, ": is of another job or run than the engagement"));
  }
  return out;
}

// Fills a front; apart from it because the two kinds of run take different ways.
class FrontOpener {
 public:
  FrontOpener(const fs::path& folder, const OpenOptions& options) : options_(options) {
    front_.folder_ = folder;
    front_.client_pinned_ = options.client_key.has_value();
  }

  Expected<BundleFront> open() {
    const fs::path& folder = front_.folder_;
    ISOBIT_TRY(front_.listing_, list_bundle(folder));
    const Listing& listing = front_.listing_;
    if (listing.has(kManifestFile)) {
      ISOBIT_RETURN_IF_ERROR(finished());
    } else if (listing.has(kTranscriptFile)) {
      ISOBIT_RETURN_IF_ERROR(unfinished());
    } else if (listing.has(kLockFile) && listing.files.at(std::string(kLockFile)) == 0) {
      return unreadable(text_of(folder.string(), ": the run was stopped before it began; start it again"));
    } else {
      return unreadable(text_of(folder.string(), ": is not a bundle: it has neither '", kManifestFile, "' nor '",
                                kTranscriptFile, "'"));
    }
    return std::move(front_);
  }

 private:
  Status unfinished() {
    const fs::path& folder = front_.folder_;
    ISOBIT_RETURN_IF_ERROR(check_unfinished_names(folder, front_.listing_));
    ISOBIT_TRY(const Bytes engagement, read_plain_file(folder / kEngagementFile, verify::kMaxEngagementBytes));
    ISOBIT_TRY(front_.engagement_, verify::decode_engagement(engagement, name_in(folder, kEngagementFile)));
    ISOBIT_RETURN_IF_ERROR(check_engagement(front_.engagement_, options_, folder));
    ISOBIT_TRY(front_.job_toml_, read_plain_file(folder / kJobFile, kMaxJobBytes));
    return {};
  }

  Status finished() {
    const fs::path& folder = front_.folder_;
    ISOBIT_RETURN_IF_ERROR(check_finished_names(folder, front_.listing_));
    ISOBIT_TRY(const Bytes engagement,
               or_rejected(read_plain_file(folder / kEngagementFile, verify::kMaxEngagementBytes)));
    ISOBIT_TRY(const Bytes manifest, or_rejected(read_plain_file(folder / kManifestFile, kMaxManifestBytes)));
    ISOBIT_TRY(const Bytes signature,
               or_rejected(read_plain_file(folder / kManifestSignatureFile, verify::kMaxEngagementBytes)));
    ISOBIT_TRY(SignedFront front, open_signed_front(folder, engagement, manifest, signature, options_));
    front_.engagement_ = std::move(front.engagement);
    front_.manifest_ = std::move(front.manifest);
    ISOBIT_RETURN_IF_ERROR(check_listed(folder, front_.listing_, *front_.manifest_));
    ISOBIT_RETURN_IF_ERROR(check_entry(folder, kEngagementFile, entry_of(engagement), *front_.manifest_));
    ISOBIT_TRY(front_.job_toml_, or_rejected(read_plain_file(folder / kJobFile, kMaxJobBytes)));
    return check_entry(folder, kJobFile, entry_of(front_.job_toml_), *front_.manifest_);
  }

  const OpenOptions& options_;
  BundleFront front_;
};

Expected<BundleFront> BundleFront::open(const fs::path& folder, const OpenOptions& options) {
  return FrontOpener(folder, options).open();
}

}  // namespace isobit::bundle
