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

// That somebody said a body, without the body: what a signature of a message covers.
struct Statement {
  uint64_t turn = 0;
  commit::Digest history{};
  commit::PublicKey key;
  commit::Digest body{};  // SHA-256
  commit::Signature signature;
  bool operator==(const Statement&) const = default;
};
Statement statement_of(const Message& message);
[[nodiscard]] bool verify_statement(const Statement& statement, const verify::EngagementTerms& terms);
void write(ByteWriter& writer, const Statement& statement);
Expected<Statement> read_statement(ByteReader& reader);

// Of no turn: binds the run, and whose game it is. Two games about one run, of two challengers or keys, have no history
// in common.
commit::Digest first_history(const verify::EngagementTerms& terms, const commit::PublicKey& challenger);
// With one more body, of this party; by the SHA-256 of it.
commit::Digest next_history(const commit::Digest& history, Party party, const commit::Digest& body);

Message sign_message(uint64_t turn, const commit::Digest& history, Bytes body, const verify::EngagementTerms& terms,
                     const commit::SecretKey& key);
[[nodiscard]] bool verify_message(const Message& message, const verify::EngagementTerms& terms);

// The longest message that counts, of those of a dispute and of a spot check: a list grows with the interval, the
// network or the batch, and may be longer than the engagement says.
uint64_t max_message_bytes(bool is_list, const verify::EngagementTerms& terms);

Bytes encode(const Message& message);
// Accepts exactly what encode() writes; kUnreadable otherwise. Checks no signature.
Expected<Message> decode_message(ByteView data, const std::string& what);

}  // namespace isobit::dispute
