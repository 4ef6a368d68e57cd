#include "isobit/dispute/link.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::dispute {
namespace {

constexpr uint32_t kLinkVersion = 2, kRestartVersion = 1;

void write_question(ByteWriter& w, const Question& q) {
  w.u64(q.turn);
  w.fixed(q.history);
  w.u8(static_cast<uint8_t>(q.kind));
  for (const bool asked : q.asked) w.boolean(asked);
  for (const uint64_t n : {q.first_step, q.last_step, q.leaves, q.step, q.entry}) w.u64(n);
  w.boolean(q.of_evaluation);
  w.u64(q.sample);
  w.u64(q.metric);
  w.boolean(q.of_items);
  w.boolean(q.of_states);
  w.u64(q.part.begin);
  w.u64(q.part.size);
  w.i64(q.element);
  w.i64(q.chunk);
}

Expected<Question> read_question(ByteReader& r) {
  Question q;
  ISOBIT_TRY(q.turn, r.u64("turn"));
  ISOBIT_TRY(q.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(const uint8_t kind, r.u8("kind"));
  constexpr size_t kKinds = std::variant_size_v<Body>;
  if (kind >= kKinds) return r.fail("kind", text_of("is ", int{kind}, ", at most ", kKinds - 1));
  q.kind = static_cast<Kind>(kind);
  for (bool& asked : q.asked) {
    ISOBIT_TRY(asked, r.boolean("who is asked"));
  }
  for (uint64_t* n : {&q.first_step, &q.last_step, &q.leaves, &q.step, &q.entry}) {
    ISOBIT_TRY(*n, r.u64("step or value"));
  }
  ISOBIT_TRY(q.of_evaluation, r.boolean("of the evaluation"));
  ISOBIT_TRY(q.sample, r.u64("sample"));
  ISOBIT_TRY(q.metric, r.u64("metric"));
  ISOBIT_TRY(q.of_items, r.boolean("of the values of a sum"));
  ISOBIT_TRY(q.of_states, r.boolean("of states"));
  ISOBIT_TRY(q.part.begin, r.u64("part"));
  ISOBIT_TRY(q.part.size, r.u64("part"));
  ISOBIT_TRY(q.element, r.i64("element"));
  ISOBIT_TRY(q.chunk, r.i64("chunk"));
  return q;
}

// All but the signature.
void write_unsigned(ByteWriter& w, const Asked& a) {
  write_frame(w, kQuestionTag, kLinkVersion);
  w.fixed(a.challenger.bytes);
  write_question(w, a.question);
  w.u64(a.said.size());
  for (const Referee::Said& said : a.said) {
    w.u8(static_cast<uint8_t>(said.party));
    w.fixed(said.body);
  }
}

Bytes signed_bytes(const Asked& a, const verify::EngagementTerms& terms) {
  ByteWriter w;
  write_unsigned(w, a);
  return commit::signed_payload(kQuestionTag, terms.job_root, terms.run_id, *terms.referee_key, a.question.turn,
                                commit::tagged_hash(kQuestionTag, kLinkVersion, w.view()));
}

Bytes signed_bytes(const Restart& s, const verify::EngagementTerms& terms) {
  return commit::signed_payload(kRestartTag, terms.job_root, terms.run_id, s.key, s.turn,
                                commit::tagged_hash(kRestartTag, kRestartVersion, s.history));
}

}  // namespace

Asked sign_question(Asked asked, const verify::EngagementTerms& terms, const commit::SecretKey& referee) {
  ISOBIT_CHECK(terms.referee_key == referee.public_key());
  asked.signature = referee.sign(signed_bytes(asked, terms));
  return asked;
}

Status verify_question(const Asked& asked, const verify::EngagementTerms& terms) {
  if (!terms.referee_key || !commit::verify(*terms.referee_key, signed_bytes(asked, terms), asked.signature)) {
    return rejected("the question is not signed by the engaged referee");
  }
  commit::Digest history = first_history(terms, asked.challenger);
  for (const Referee::Said& said : asked.said) history = next_history(history, said.party, said.body);
  if (history != asked.question.history) return rejected("the question's history is not that of what was said");
  return {};
}

Restart sign_restart(uint64_t turn, const commit::Digest& history, const verify::EngagementTerms& terms,
                     const commit::SecretKey& key) {
  Restart restart{turn, history, key.public_key(), {}};
  restart.signature = key.sign(signed_bytes(restart, terms));
  return restart;
}

bool verify_restart(const Restart& restart, const verify::EngagementTerms& terms) {
  return commit::verify(restart.key, signed_bytes(restart, terms), restart.signature);
}

Bytes encode(const Asked& asked) {
  ByteWriter w;
  write_unsigned(w, asked);
  w.fixed(asked.signature.bytes);
  return w.take();
}

Expected<Asked> decode_question(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kQuestionTag, kLinkVersion));
  Asked a;
  ISOBIT_TRY(a.challenger, commit::read_key(r, "challenger"));
  ISOBIT_TRY(a.question, read_question(r));
  ISOBIT_TRY(const uint64_t count, r.u64("bodies"));
  if (count > kMostSaid) return r.fail("bodies", text_of("are ", count, ", at most ", kMostSaid));
  for (uint64_t i = 0; i < count; ++i) {
    Referee::Said said;
    ISOBIT_TRY(const uint8_t party, r.u8("party"));
    if (party > 1) return r.fail("party", text_of("is ", int{party}, ", at most 1"));
    said.party = static_cast<Party>(party);
    ISOBIT_TRY(said.body, commit::read_digest(r, "digest of a body"));
    a.said.push_back(said);
  }
  ISOBIT_TRY(a.signature, commit::read_signature(r, "signature"));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return a;
}

Bytes encode(const Restart& s) {
  ByteWriter w;
  write_frame(w, kRestartTag, kRestartVersion);
  w.u64(s.turn);
  w.fixed(s.history);
  w.fixed(s.key.bytes);
  w.fixed(s.signature.bytes);
  return w.take();
}

Expected<Restart> decode_restart(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kRestartTag, kRestartVersion));
  Restart s;
  ISOBIT_TRY(s.turn, r.u64("turn"));
  ISOBIT_TRY(s.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(s.key, commit::read_key(r, "key"));
  ISOBIT_TRY(s.signature, commit::read_signature(r, "signature"));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return s;
}

}  // namespace isobit::dispute
