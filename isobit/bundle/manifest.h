// The last file of a finished run: size and digest of every other one, and facts about how the run was made that are
// no part of its transcript. Signed over its exact bytes. Format: docs/formats/bundle.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/signature.h"

namespace isobit::bundle {

struct FileEntry {
  uint64_t size = 0;
  commit::Digest sha256{};
  bool operator==(const FileEntry&) const = default;
};

struct Manifest {
  commit::Digest job_root{};
  commit::RunId run_id{};
  commit::Digest transcript_root{};
  std::map<std::string, FileEntry> files;    // by path in the bundle, with '/'
  std::map<std::string, std::string> facts;  // e.g. platform, seconds; UTF-8
  bool operator==(const Manifest&) const = default;
};

// JSON with sorted keys, two spaces of indentation and a final newline.
Bytes encode(const Manifest& manifest);
// Accepts exactly what encode() writes, up to kMaxManifestBytes; kUnreadable otherwise, with the version named when it
// is a newer one. Memory and stack are bounded whatever the text.
Expected<Manifest> decode_manifest(ByteView data, const std::string& what);
// Whether the text is a manifest that claims a newer version than this build reads; its message then. Anything else,
// malformed text included, passes.
Status check_manifest_version(ByteView data, const std::string& what);

struct ManifestSignature {
  commit::PublicKey key;
  commit::Signature signature;
  bool operator==(const ManifestSignature&) const = default;
};

// Over commit::signed_payload("isobit.manifest", job root, run id, key, size and SHA-256 of the manifest's bytes).
ManifestSignature sign_manifest(ByteView manifest_bytes, const commit::Digest& job_root, const commit::RunId& run_id,
                                const commit::SecretKey& trainer);
// kRejected when it is not valid for these bytes.
Status verify_manifest_signature(const ManifestSignature& signature, ByteView manifest_bytes,
                                 const commit::Digest& job_root, const commit::RunId& run_id, const std::string& what);

Bytes encode(const ManifestSignature& signature);
Expected<ManifestSignature> decode_manifest_signature(ByteView data, const std::string& what);

}  // namespace isobit::bundle
