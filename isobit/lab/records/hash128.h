// The hash by which a lab tells values apart.
//
// Determinism class: the same bytes have the same hash on every machine.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::lab::records {

// XXH3_128bits (xxHash 0.8, seed 0) of the bytes of a tensor: row-major, little-endian elements. Equal hashes are taken
// for equal bits. The hash is fast and no evidence: whoever wants to can make two tensors of one hash. Where a hash is
// evidence (of models, of inputs, of runs) it is SHA-256.
struct Hash128 {
  uint64_t high = 0, low = 0;
  auto operator<=>(const Hash128&) const = default;
};

Hash128 hash_of(ByteView bytes);
// 32 lower-case hex digits, the high half first.
std::string hex_of(const Hash128& hash);
// Exactly 32 hex digits, either case; kUnreadable otherwise. `what` starts the message.
Expected<Hash128> hash_from_hex(std::string_view text, std::string_view what);

}  // namespace isobit::lab::records
