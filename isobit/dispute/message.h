// What is sent in a dispute: a body, signed together with everything that was said before it. Byte layout:
// docs/formats/dispute.md.
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/signature.h"
#include "isobit/dispute/subject.h"
#include "isobit/verify/engagement.h"

namespace isobit::dispute {

struct Message {
  uint64_t turn = 0;         // 0: the challenge
  commit::Digest history{};  // of the turns before
  commit::PublicKey key;
  Bytes body;
  commit::Signature signature;
  bool operator==(const Message&) const = default;
};

// Of no turn: binds the run.
commit::Digest first_history(const verify::EngagementTerms& terms);
// With one more body, of this party.
commit::Digest next_history(const commit::Digest& history, Party party, ByteView body);

Message sign_message(uint64_t turn, const commit::Digest& history, Bytes body, const verify::EngagementTerms& terms,
                     const commit::SecretKey& key);
[[nodiscard]] bool verify_message(const Message& message, const verify::EngagementTerms& terms);

Bytes encode(const Message& message);
// Accepts exactly what encode() writes; kUnreadable otherwise. Checks no signature.
Expected<Message> decode_message(ByteView data, const std::string& what);

}  // namespace isobit::dispute
