#include "isobit/commit/hash.h"

// The low-level interface is marked deprecated but spares an allocation and a provider look-up for each of the many
// small hashes of a tree; it runs the same SHA-NI code as EVP.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::commit {
namespace {

// The context is a plain C struct; copying its bytes copies it.
SHA256_CTX load(const void* bytes) {
  SHA256_CTX context;
  std::memcpy(&context, bytes, sizeof context);
  return context;
}

}  // namespace

Sha256::Sha256() {
  static_assert(sizeof(SHA256_CTX) == sizeof(State) && alignof(SHA256_CTX) <= alignof(State));
  SHA256_CTX context;
  std::memset(&context, 0, sizeof context);
  SHA256_Init(&context);
  std::memcpy(&state_, &context, sizeof context);
}

Sha256& Sha256::update(ByteView data) {
  if (data.empty()) return *this;
  SHA256_CTX context = load(&state_);
  SHA256_Update(&context, data.data(), data.size());
  std::memcpy(&state_, &context, sizeof context);
  return *this;
}

Digest Sha256::digest() const {
  SHA256_CTX context = load(&state_);
  Digest out;
  SHA256_Final(out.data(), &context);
  return out;
}

Digest sha256(ByteView data) {
  SHA256_CTX context;
  SHA256_Init(&context);
  if (!data.empty()) SHA256_Update(&context, data.data(), data.size());
  Digest out;
  SHA256_Final(out.data(), &context);
  return out;
}

Digest tagged_hash(std::string_view tag, uint32_t version, ByteView payload) {
  ISOBIT_CHECK(tag.size() >= 2 && tag.size() <= 255);
  ByteWriter prefix;
  prefix.text(tag);
  prefix.u32(version);
  prefix.u64(payload.size());
  return Sha256().update(prefix.view()).update(payload).digest();
}

std::string hex_of(const Digest& digest) { return to_hex(digest); }

Expected<Digest> digest_from_hex(std::string_view text, std::string_view what) {
  Digest out;
  if (text.size() != 2 * out.size()) {
    return unreadable(text_of(what, ": found ", text.size(), " characters, expected the 64 hex digits of a digest"));
  }
  auto bytes = from_hex(text);
  if (!bytes) return unreadable(text_of(what, ": ", bytes.error().message));
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

Expected<Digest> read_digest(ByteReader& reader, const char* field) {
  Digest out;
  ISOBIT_TRY(const ByteView view, reader.fixed(field, out.size()));
  std::copy(view.begin(), view.end(), out.begin());
  return out;
}

void write_optional_digest(ByteWriter& writer, const std::optional<Digest>& digest) {
  writer.boolean(digest.has_value());
  if (digest) writer.fixed(*digest);
}

Expected<std::optional<Digest>> read_optional_digest(ByteReader& reader, const char* field) {
  ISOBIT_TRY(const bool present, reader.boolean(field));
  if (!present) return std::optional<Digest>();
  ISOBIT_TRY(const Digest digest, read_digest(reader, field));
  return std::optional(digest);
}

}  // namespace isobit::commit
