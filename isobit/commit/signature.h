// Ed25519 (RFC 8032, pure) keys, signatures, key files, and the bytes a signed head covers: docs/formats/signature.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"

namespace isobit::commit {

struct PublicKey {
  std::array<uint8_t, 32> bytes{};
  auto operator<=>(const PublicKey&) const = default;
};

struct Signature {
  std::array<uint8_t, 64> bytes{};
  bool operator==(const Signature&) const = default;
};

// OpenSSL computes, in a library context of ours with its default provider: the machine's openssl.cnf is not read, be
// it for FIPS or without that provider. All that computes with a key throws MachineCannot where OpenSSL cannot (no
// memory, a library that is not whole), and never says "not valid" for it.

// The 32-byte seed of RFC 8032, wiped from memory when the object goes.
class SecretKey {
 public:
  using Seed = std::array<uint8_t, 32>;

  // From the operating system's randomness; kUnavailable when it has none.
  static Expected<SecretKey> generate();
  static SecretKey from_seed(const Seed& seed);
  ~SecretKey();
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;

  const PublicKey& public_key() const { return public_; }
  const Seed& seed() const { return seed_; }
  // Deterministic: one signature per key and message.
  Signature sign(ByteView message) const;

 private:
  SecretKey() = default;
  Seed seed_{};
  PublicKey public_;
};

// Whether `signature` is valid. A key or signature that is no point of the curve is just not valid.
[[nodiscard]] bool verify(const PublicKey& key, ByteView message, const Signature& signature);

// 64 lower-case hex digits.
std::string hex_of(const PublicKey& key);

// A name for one run of a job, chosen by whoever runs it.
using RunId = std::array<uint8_t, 16>;

// Their bytes alone, of whatever value.
Expected<PublicKey> read_key(ByteReader& reader, const char* field);
Expected<Signature> read_signature(ByteReader& reader, const char* field);
Expected<RunId> read_run_id(ByteReader& reader, const char* field);

// The canonical bytes a signature on a tree head covers. Everything a head could be confused with is inside: what kind
// of head (tag), which job, which run, whose key, how many leaves.
Bytes signed_payload(std::string_view tag, const Digest& job_root, const RunId& run_id, const PublicKey& key,
                     uint64_t size, const Digest& root);

// Key files: one line each, "isobit-ed25519-secret-1 <seed, 64 lower-case hex digits>\n" and
// "isobit-ed25519-public-1 <key, likewise>\n". Decoders accept nothing else (kUnreadable).
std::string encode_secret_key(const SecretKey& key);
std::string encode_public_key(const PublicKey& key);
Expected<SecretKey> decode_secret_key(ByteView data, const std::string& name);
Expected<PublicKey> decode_public_key(ByteView data, const std::string& name);

// Durable (fsync of file and folder), mode 0600 and 0644. kUsage when `path` exists: a key is never overwritten.
// A kill leaves either no file or a whole one under `path`.
Status write_secret_key(const fs::path& path, const SecretKey& key);
Status write_public_key(const fs::path& path, const PublicKey& key);
Expected<SecretKey> read_secret_key(const fs::path& path);
Expected<PublicKey> read_public_key(const fs::path& path);

}  // namespace isobit::commit
