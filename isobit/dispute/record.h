// A finished dispute as a file: the engagement, the messages that counted, and what ended it beside them. Whoever has
// it and the job gets the verdict by playing it again, and needs to believe nobody; of a forfeit, the referee. Byte
// layout: docs/formats/dispute.md.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/signature.h"
#include "isobit/dispute/referee.h"
#include "isobit/dispute/subject.h"

namespace isobit::dispute {

inline constexpr std::string_view kRecordTag = "isobit.dispute-record";
inline constexpr std::string_view kReceiptRecordTag = "isobit.receipt-dispute-record";
inline constexpr uint64_t kMaxRecordBytes = uint64_t{256} << 20;

struct Record {
  verify::Engagement engagement;                                   // of a run
  std::vector<Bytes> messages;                                     // Referee::record()
  std::variant<std::monostate, Closing, Equivocation> ending;      // a forfeit; two answers of one party; else nothing
  std::optional<verify::InferenceReceipt> receipt = std::nullopt;  // of an inference, in place of an engagement
  bool operator==(const Record&) const = default;
};

Bytes encode(const Record& record);
// Accepts exactly what encode() writes of at most kMaxRecordBytes; checks no signature. `what` starts the messages.
Expected<Record> decode_record(ByteView data, const std::string& what);

// What the record shows: the verdict that its messages lead to. subject: by one's own reading of the job; its
// engagement is the record's. kRejected: a message does not count, they lead to no verdict, or what is said to have
// ended the dispute did not.
struct Replayed {
  Verdict verdict;
  commit::PublicKey challenger;
  Referee::Counts counts;
  uint64_t turns = 0;
};
Expected<Replayed> replay(const Record& record, const Subject& subject);

}  // namespace isobit::dispute
