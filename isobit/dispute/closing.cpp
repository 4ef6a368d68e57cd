#include "isobit/dispute/closing.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::dispute {
namespace {

constexpr std::string_view kEquivocationTag = "isobit.dispute-equivocation";
constexpr uint32_t kClosingVersion = 1;

Bytes signed_bytes(const Closing& c, const verify::EngagementTerms& terms) {
  ByteWriter w;
  w.fixed(c.challenger.bytes);
  w.fixed(c.history);
  w.u8(static_cast<uint8_t>(c.outcome));
  return commit::signed_payload(kClosingTag, terms.job_root, terms.run_id, *terms.referee_key, c.turn,
                                commit::tagged_hash(kClosingTag, kClosingVersion, w.view()));
}

}  // namespace

Status verify_equivocation(const Equivocation& e, const verify::EngagementTerms& terms) {
  const Statement &a = e.statements[0], &b = e.statements[1];
  if (a.key != b.key || a.turn != b.turn || a.history != b.history) {
    return rejected("the two statements are not of one party to one question");
  }
  if (a.turn == 0) return rejected("the two statements are challenges, which answer no question");
  if (a.body == b.body) return rejected("the two statements are the same answer");
  for (const Statement& s : e.statements) {
    if (!verify_statement(s, terms)) return rejected("the signature of a statement is not valid");
  }
  return {};
}

Closing sign_closing(Closing closing, const verify::EngagementTerms& terms, const commit::SecretKey& referee) {
  ISOBIT_CHECK(terms.referee_key == referee.public_key());
  closing.signature = referee.sign(signed_bytes(closing, terms));
  return closing;
}

Status verify_closing(const Closing& closing, const verify::EngagementTerms& terms) {
  if (!terms.referee_key) return rejected("the engagement names no referee, whose word on a dispute could count");
  if (!commit::verify(*terms.referee_key, signed_bytes(closing, terms), closing.signature)) {
    return rejected("how the dispute ended is not signed by the engaged referee");
  }
  return {};
}

Bytes encode(const Equivocation& e) {
  ByteWriter w;
  write_frame(w, kEquivocationTag, kClosingVersion);
  for (const Statement& s : e.statements) write(w, s);
  return w.take();
}

Expected<Equivocation> decode_equivocation(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kEquivocationTag, kClosingVersion));
  Equivocation e;
  for (Statement& s : e.statements) {
    ISOBIT_TRY(s, read_statement(r));
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return e;
}

Bytes encode(const Closing& c) {
  ByteWriter w;
  write_frame(w, kClosingTag, kClosingVersion);
  w.fixed(c.challenger.bytes);
  w.u64(c.turn);
  w.fixed(c.history);
  w.u8(static_cast<uint8_t>(c.outcome));
  w.fixed(c.signature.bytes);
  return w.take();
}

Expected<Closing> decode_closing(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kClosingTag, kClosingVersion));
  Closing c;
  ISOBIT_TRY(c.challenger, commit::read_key(r, "challenger"));
  ISOBIT_TRY(c.turn, r.u64("turn"));
  ISOBIT_TRY(c.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(const uint8_t outcome, r.u8("outcome"));
  if (outcome > static_cast<uint8_t>(kLastOutcome)) {
    return r.fail("outcome", text_of("is ", int{outcome}, ", at most ", static_cast<int>(kLastOutcome)));
  }
  c.outcome = static_cast<Outcome>(outcome);
  ISOBIT_TRY(c.signature, commit::read_signature(r, "signature"));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return c;
}

}  // namespace isobit::dispute
