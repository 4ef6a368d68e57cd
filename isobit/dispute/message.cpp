#include "isobit/dispute/message.h"

#include <algorithm>

#include "isobit/base/frame.h"

namespace isobit::dispute {
namespace {

constexpr std::string_view kTag = "isobit.dispute-message", kHistoryTag = "isobit.dispute-history";
constexpr uint32_t kVersion = 1;

Bytes signed_bytes(const Message& m, const verify::EngagementTerms& terms) {
  ByteWriter w;
  w.fixed(m.history);
  w.fixed(commit::sha256(m.body));
  return commit::signed_payload(kTag, terms.job_root, terms.run_id, m.key, m.turn,
                                commit::tagged_hash(kTag, kVersion, w.view()));
}

}  // namespace

commit::Digest first_history(const verify::EngagementTerms& terms) {
  ByteWriter w;
  w.fixed(terms.job_root);
  w.fixed(terms.run_id);
  return commit::tagged_hash(kHistoryTag, kVersion, w.view());
}

commit::Digest next_history(const commit::Digest& history, Party party, ByteView body) {
  ByteWriter w;
  w.fixed(history);
  w.u8(static_cast<uint8_t>(party));
  w.fixed(commit::sha256(body));
  return commit::tagged_hash(kHistoryTag, kVersion, w.view());
}

Message sign_message(uint64_t turn, const commit::Digest& history, Bytes body, const verify::EngagementTerms& terms,
                     const commit::SecretKey& key) {
  Message m{turn, history, key.public_key(), std::move(body), {}};
  m.signature = key.sign(signed_bytes(m, terms));
  return m;
}

bool verify_message(const Message& m, const verify::EngagementTerms& terms) {
  return commit::verify(m.key, signed_bytes(m, terms), m.signature);
}

Bytes encode(const Message& m) {
  ByteWriter w;
  write_frame(w, kTag, kVersion);
  w.u64(m.turn);
  w.fixed(m.history);
  w.fixed(m.key.bytes);
  w.fixed(m.signature.bytes);
  w.bytes(m.body);
  return w.take();
}

Expected<Message> decode_message(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kTag, kVersion));
  Message m;
  ISOBIT_TRY(m.turn, r.u64("turn"));
  ISOBIT_TRY(m.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(const ByteView key, r.fixed("key", m.key.bytes.size()));
  std::copy(key.begin(), key.end(), m.key.bytes.begin());
  ISOBIT_TRY(const ByteView signature, r.fixed("signature", m.signature.bytes.size()));
  std::copy(signature.begin(), signature.end(), m.signature.bytes.begin());
  ISOBIT_TRY(const ByteView body, r.bytes("body", r.remaining()));
  m.body.assign(body.begin(), body.end());
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return m;
}

}  // namespace isobit::dispute
