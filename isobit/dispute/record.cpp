#include "isobit/dispute/record.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::dispute {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxEngagement = 1 << 14;

}  // namespace

Bytes encode(const Record& record) {
  ByteWriter w;
  write_frame(w, kRecordTag, kVersion);
  w.bytes(verify::encode(record.engagement));
  w.u64(record.messages.size());
  for (const Bytes& message : record.messages) w.bytes(message);
  return w.take();
}

Expected<Record> decode_record(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  if (data.size() > kMaxRecordBytes) return r.fail("size", text_of("is over ", kMaxRecordBytes, " bytes"));
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kRecordTag, kVersion));
  Record record;
  ISOBIT_TRY(const ByteView engagement, r.bytes("engagement", kMaxEngagement));
  ISOBIT_TRY(record.engagement, verify::decode_engagement(engagement, what + ", engagement"));
  ISOBIT_TRY(const uint64_t count, r.u64("messages"));
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const ByteView message, r.bytes("message", kMaxRecordBytes));
    record.messages.emplace_back(message.begin(), message.end());
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return record;
}

Expected<Replayed> replay(const Record& record, const Subject& subject) {
  Referee referee(subject);
  for (size_t i = 0; i < record.messages.size(); ++i) {
    const Referee::Receipt receipt = referee.receive(record.messages[i]);
    if (!receipt.counts) return rejected(text_of("message ", i, " does not count: ", receipt.why_not));
  }
  if (!referee.verdict()) return rejected("the messages lead to no verdict: the dispute has not ended");
  if (referee.record() != record.messages) return rejected("the messages are not in the order of the game");
  return Replayed{*referee.verdict(), *referee.challenger(), referee.counts(), referee.question().turn};
}

}  // namespace isobit::dispute
