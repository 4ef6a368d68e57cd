#include "isobit/bundle/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "isobit/base/frame.h"
#include "isobit/base/json_depth.h"
#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"

namespace isobit::bundle {
namespace {

using Json = nlohmann::json;  // keys in sorted order

constexpr const char* kFormat = "isobit-bundle";
constexpr std::string_view kSignatureTag = "isobit.manifest";
constexpr uint32_t kSignatureVersion = 1;

// A manifest is an object of objects of objects.
constexpr int kDepth = 3;

// Discarded (no object) when it is no JSON, too long or too deep.
Json parse(ByteView data) {
  if (data.size() > kMaxManifestBytes || !check_json_depth(data, kDepth, "")) return Json(Json::value_t::discarded);
  return Json::parse(data.begin(), data.end(), nullptr, false);
}

tl::unexpected<Error> bad(const std::string& what, std::string_view field, std::string_view expected) {
  return unreadable(text_of(what, ": field '", field, "': expected ", expected));
}

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Expected<commit::Digest> digest_member(const Json& object, const char* key, const std::string& what) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_string()) return bad(what, key, "64 hex digits");
  return commit::digest_from_hex(value->get_ref<const std::string&>(), text_of(what, ": field '", key, "'"));
}

Expected<FileEntry> file_entry(const std::string& name, const Json& value, const std::string& what) {
  const std::string entry = text_of(what, ": file '", name, "'");
  if (!value.is_object()) return bad(entry, "files", "an object with sha256 and size");
  const Json* size = member(value, "size");
  if (size == nullptr || !size->is_number_unsigned()) return bad(entry, "size", "a number of bytes");
  FileEntry out;
  out.size = size->get<uint64_t>();
  ISOBIT_TRY(out.sha256, digest_member(value, "sha256", entry));
  return out;
}

Status check_version(const Json& root, const std::string& what) {
  if (!root.is_object()) return {};
  const Json* format = member(root, "format");
  const Json* version = member(root, "version");
  if (format == nullptr || *format != kFormat || version == nullptr || !version->is_number_unsigned()) return {};
  const auto found = version->get<uint64_t>();
  if (found <= kBundleVersion) return {};
  return unreadable(text_of(what, ": bundle from a newer version: found ", found, ", this isobit reads ",
                            kBundleVersion, "; update isobit"));
}

Bytes message_of(ByteView manifest_bytes, const commit::Digest& job_root, const commit::RunId& run_id,
                 const commit::PublicKey& key) {
  return commit::signed_payload(kSignatureTag, job_root, run_id, key, manifest_bytes.size(),
                                commit::sha256(manifest_bytes));
}

}  // namespace

Bytes encode(const Manifest& manifest) {
  Json files = Json::object();
  for (const auto& [name, entry] : manifest.files) {
    files[name] = {{"sha256", commit::hex_of(entry.sha256)}, {"size", entry.size}};
  }
  Json facts = Json::object();
  for (const auto& [name, value] : manifest.facts) facts[name] = value;
  const Json root = {{"format", kFormat},
                     {"version", kBundleVersion},
                     {"job_root", commit::hex_of(manifest.job_root)},
                     {"run_id", to_hex(manifest.run_id)},
                     {"transcript_root", commit::hex_of(manifest.transcript_root)},
                     {"files", std::move(files)},
                     {"facts", std::move(facts)}};
  const std::string text = root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return Bytes(text.begin(), text.end());
}

Status check_manifest_version(ByteView data, const std::string& what) { return check_version(parse(data), what); }

Expected<Manifest> decode_manifest(ByteView data, const std::string& what) {
  const Json root = parse(data);
  ISOBIT_RETURN_IF_ERROR(check_version(root, what));
  if (!root.is_object()) {
    return unreadable(text_of(what, ": is not a JSON object of at most ", human_bytes(kMaxManifestBytes),
                              " with objects three deep"));
  }
  Manifest manifest;
  ISOBIT_TRY(manifest.job_root, digest_member(root, "job_root", what));
  ISOBIT_TRY(manifest.transcript_root, digest_member(root, "transcript_root", what));
  const Json* run_id = member(root, "run_id");
  if (run_id == nullptr || !run_id->is_string()) return bad(what, "run_id", "32 hex digits");
  ISOBIT_TRY(const Bytes id, from_hex(run_id->get_ref<const std::string&>()));
  if (id.size() != manifest.run_id.size()) return bad(what, "run_id", "32 hex digits");
  std::copy(id.begin(), id.end(), manifest.run_id.begin());
  const Json* files = member(root, "files");
  if (files == nullptr || !files->is_object()) return bad(what, "files", "an object");
  for (const auto& [name, value] : files->items()) {
    ISOBIT_TRY(manifest.files[name], file_entry(name, value, what));
  }
  const Json* facts = member(root, "facts");
  if (facts == nullptr || !facts->is_object()) return bad(what, "facts", "an object");
  for (const auto& [name, value] : facts->items()) {
    if (!value.is_string()) return bad(what, name, "a text");
    manifest.facts[name] = value.get<std::string>();
  }
  // Whatever else is in the text (unknown or repeated keys, other spacing, upper-case hex) shows here.
  if (!std::ranges::equal(encode(manifest), data)) {
    return unreadable(text_of(what, ": is not written in the one form a manifest has"));
  }
  return manifest;
}

ManifestSignature sign_manifest(ByteView manifest_bytes, const commit::Digest& job_root, const commit::RunId& run_id,
                                const commit::SecretKey& trainer) {
  const commit::PublicKey& key = trainer.public_key();
  return {key, trainer.sign(message_of(manifest_bytes, job_root, run_id, key))};
}

Status verify_manifest_signature(const ManifestSignature& signature, ByteView manifest_bytes,
                                 const commit::Digest& job_root, const commit::RunId& run_id, const std::string& what) {
  if (commit::verify(signature.key, message_of(manifest_bytes, job_root, run_id, signature.key), signature.signature)) {
    return {};
  }
  return rejected(
      text_of(what, ": the signature by ", commit::hex_of(signature.key), " is not valid for this manifest"));
}

Bytes encode(const ManifestSignature& signature) {
  ByteWriter writer;
  write_frame(writer, kSignatureTag, kSignatureVersion);
  writer.fixed(signature.key.bytes);
  writer.fixed(signature.signature.bytes);
  return writer.take();
}

Expected<ManifestSignature> decode_manifest_signature(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kSignatureTag, kSignatureVersion));
  ManifestSignature out;
  ISOBIT_TRY(out.key, commit::read_key(reader, "key"));
  ISOBIT_TRY(out.signature, commit::read_signature(reader, "signature"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return out;
}

}  // namespace isobit::bundle
