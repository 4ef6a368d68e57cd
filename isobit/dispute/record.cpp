#include "isobit/dispute/record.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/dispute/recorded.h"

namespace isobit::dispute {
namespace {

constexpr uint32_t kRecordVersion = 1;
constexpr uint64_t kMaxEnding = 1 << 10;

// Whose game it is, by whatever the record holds that says so.
Expected<commit::PublicKey> challenger_of(const Record& record) {
  if (!record.messages.empty()) {
    ISOBIT_TRY(const Message first, decode_message(record.messages[0], "message 0"));
    return first.key;
  }
  if (const auto* closing = std::get_if<Closing>(&record.ending)) return closing->challenger;
  return rejected("there is no challenge");
}

Status end_by(const Closing& closing, Referee& referee) {
  ISOBIT_RETURN_IF_ERROR(verify_closing(closing, referee.subject().engagement.terms));
  const Question& open = referee.question();
  if (closing.challenger != referee.challenger() || closing.turn != open.turn || closing.history != open.history) {
    return rejected("the forfeit is of another turn or game");
  }
  return referee.expire(closing.outcome);
}

}  // namespace

Bytes encode(const Record& record) {
  ByteWriter w;
  write_frame(w, record.receipt ? kReceiptRecordTag : kRecordTag, kRecordVersion);
  write_agreement(w, record.engagement, record.receipt);
  write_messages(w, record.messages);
  w.u8(static_cast<uint8_t>(record.ending.index()));
  if (const auto* closing = std::get_if<Closing>(&record.ending)) w.bytes(encode(*closing));
  if (const auto* two = std::get_if<Equivocation>(&record.ending)) w.bytes(encode(*two));
  return w.take();
}

Expected<Record> decode_record(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  if (data.size() > kMaxRecordBytes) return r.fail("size", text_of("is over ", kMaxRecordBytes, " bytes"));
  const bool of_receipt = has_tag(data, kReceiptRecordTag);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, of_receipt ? kReceiptRecordTag : kRecordTag, kRecordVersion));
  Record record;
  ISOBIT_RETURN_IF_ERROR(read_agreement(r, of_receipt, what, record.engagement, record.receipt));
  ISOBIT_TRY(record.messages, read_messages(r));
  ISOBIT_TRY(const uint8_t ending, r.u8("ending"));
  if (ending > 2) return r.fail("ending", text_of("is ", int{ending}, ", at most 2"));
  if (ending > 0) {
    ISOBIT_TRY(const ByteView bytes, r.bytes("ending", kMaxEnding));
    if (ending == 1) {
      ISOBIT_TRY(record.ending, decode_closing(bytes, what + ", closing"));
    } else {
      ISOBIT_TRY(record.ending, decode_equivocation(bytes, what + ", equivocation"));
    }
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return record;
}

Expected<Replayed> replay(const Record& record, const Subject& subject) {
  const auto challenger = challenger_of(record);
  if (!challenger) return rejected(challenger.error().message);
  ISOBIT_RETURN_IF_ERROR(Referee::check_challenger(*challenger, subject.engagement));
  Referee referee(subject, *challenger);
  for (size_t i = 0; i < record.messages.size(); ++i) {
    const Referee::Receipt receipt = referee.receive(record.messages[i]);
    if (!receipt.counts) return rejected(text_of("message ", i, " does not count: ", receipt.why_not));
  }
  if (record.ending.index() > 0) {
    if (referee.verdict())
      return rejected("the messages lead to a verdict, and something else is said to have ended it");
    const auto* closing = std::get_if<Closing>(&record.ending);
    ISOBIT_RETURN_IF_ERROR(closing != nullptr ? end_by(*closing, referee)
                                              : referee.convict(std::get<Equivocation>(record.ending)));
  }
  if (!referee.verdict()) return rejected("the messages lead to no verdict: the dispute has not ended");
  if (referee.record() != record.messages) return rejected("the messages are not in the order of the game");
  return Replayed{*referee.verdict(), referee.challenger(), referee.counts(), referee.question().turn};
}

}  // namespace isobit::dispute
