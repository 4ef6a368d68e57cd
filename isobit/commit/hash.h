// SHA-256 and the one way isobit hashes an object: tag, version, payload. Byte layout: docs/formats/merkle.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::commit {

using Digest = std::array<uint8_t, 32>;

// Incremental SHA-256 (FIPS 180-4). A plain value: no allocation, and a copy taken after a common prefix saves hashing
// the prefix again. Not thread-safe; use one object per thread.
class Sha256 {
 public:
  Sha256();
  Sha256& update(ByteView data);
  // The digest of everything so far; *this is left unchanged, so more may follow.
  Digest digest() const;

 private:
  // Room for the library's context; its type stays in hash.cpp so that no other file sees OpenSSL.
  struct alignas(8) State {
    uint8_t bytes[112];
  };
  State state_;
};

Digest sha256(ByteView data);

// SHA-256 over the tag's length (u64), the tag, version (u32), the payload's length (u64), the payload.
// No two (tag, version, payload) give the same input, and none can be mistaken for a leaf or a node of a Merkle tree,
// whose inputs start with byte 0 or 1: the first byte here is the length of the tag.
// REQUIRES 2 <= tag.size() <= 255. Tags look like "isobit.tensor".
Digest tagged_hash(std::string_view tag, uint32_t version, ByteView payload);

// 64 lower-case hex digits.
std::string hex_of(const Digest& digest);
// Exactly 64 hex digits, either case; kUnreadable otherwise. `what` starts the message.
Expected<Digest> digest_from_hex(std::string_view text, std::string_view what);

// Reads 32 bytes.
Expected<Digest> read_digest(ByteReader& reader, const char* field);

// One that may be absent: whether it is there, then its bytes.
void write_optional_digest(ByteWriter& writer, const std::optional<Digest>& digest);
Expected<std::optional<Digest>> read_optional_digest(ByteReader& reader, const char* field);

}  // namespace isobit::commit
