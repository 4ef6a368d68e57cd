#include "isobit/dispute/message.h"

#include "isobit/base/frame.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

constexpr std::string_view kMessageTag = "isobit.dispute-message", kHistoryTag = "isobit.dispute-history";
constexpr uint32_t kMessageVersion = 1;

Bytes signed_bytes(const Statement& s, const verify::EngagementTerms& terms) {
  ByteWriter w;
  w.fixed(s.history);
  w.fixed(s.body);
  return commit::signed_payload(kMessageTag, terms.job_root, terms.run_id, s.key, s.turn,
                                commit::tagged_hash(kMessageTag, kMessageVersion, w.view()));
}

}  // namespace

Statement statement_of(const Message& m) { return {m.turn, m.history, m.key, commit::sha256(m.body), m.signature}; }

bool verify_statement(const Statement& s, const verify::EngagementTerms& terms) {
  return commit::verify(s.key, signed_bytes(s, terms), s.signature);
}

void write(ByteWriter& w, const Statement& s) {
  w.u64(s.turn);
  w.fixed(s.history);
  w.fixed(s.key.bytes);
  w.fixed(s.body);
  w.fixed(s.signature.bytes);
}

Expected<Statement> read_statement(ByteReader& r) {
  Statement s;
  ISOBIT_TRY(s.turn, r.u64("turn"));
  ISOBIT_TRY(s.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(s.key, commit::read_key(r, "key"));
  ISOBIT_TRY(s.body, commit::read_digest(r, "digest of the body"));
  ISOBIT_TRY(s.signature, commit::read_signature(r, "signature"));
  return s;
}

commit::Digest first_history(const verify::EngagementTerms& terms, const commit::PublicKey& challenger) {
  ByteWriter w;
  w.fixed(terms.job_root);
  w.fixed(terms.run_id);
  w.fixed(challenger.bytes);
  return commit::tagged_hash(kHistoryTag, kMessageVersion, w.view());
}

commit::Digest next_history(const commit::Digest& history, Party party, const commit::Digest& body) {
  ByteWriter w;
  w.fixed(history);
  w.u8(static_cast<uint8_t>(party));
  w.fixed(body);
  return commit::tagged_hash(kHistoryTag, kMessageVersion, w.view());
}

Message sign_message(uint64_t turn, const commit::Digest& history, Bytes body, const verify::EngagementTerms& terms,
                     const commit::SecretKey& key) {
  Message m{turn, history, key.public_key(), std::move(body), {}};
  m.signature = key.sign(signed_bytes(statement_of(m), terms));
  return m;
}

bool verify_message(const Message& m, const verify::EngagementTerms& terms) {
  return verify_statement(statement_of(m), terms);
}

uint64_t max_message_bytes(bool is_list, const verify::EngagementTerms& terms) {
  return is_list ? verify::kMaxSchemaBytes * 2 : terms.message_bytes;  // a schema, and as much beside it
}

Bytes encode(const Message& m) {
  ByteWriter w;
  write_frame(w, kMessageTag, kMessageVersion);
  w.u64(m.turn);
  w.fixed(m.history);
  w.fixed(m.key.bytes);
  w.fixed(m.signature.bytes);
  w.bytes(m.body);
  return w.take();
}

Expected<Message> decode_message(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kMessageTag, kMessageVersion));
  Message m;
  ISOBIT_TRY(m.turn, r.u64("turn"));
  ISOBIT_TRY(m.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(m.key, commit::read_key(r, "key"));
  ISOBIT_TRY(m.signature, commit::read_signature(r, "signature"));
  ISOBIT_TRY(const ByteView body, r.bytes("body", r.remaining()));
  m.body.assign(body.begin(), body.end());
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return m;
}

}  // namespace isobit::dispute
