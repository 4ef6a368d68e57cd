#include "isobit/dispute/recorded.h"

namespace isobit::dispute {

void write_agreement(ByteWriter& w, const verify::Engagement& engagement,
                     const std::optional<verify::InferenceReceipt>& receipt) {
  w.bytes(receipt ? verify::encode(*receipt) : verify::encode(engagement));
}

Status read_agreement(ByteReader& r, bool of_receipt, const std::string& what, verify::Engagement& engagement,
                      std::optional<verify::InferenceReceipt>& receipt) {
  if (of_receipt) {
    ISOBIT_TRY(const ByteView bytes, r.bytes("receipt", verify::kMaxReceiptBytes));
    ISOBIT_TRY(receipt, verify::decode_receipt(bytes, what + ", receipt"));
  } else {
    ISOBIT_TRY(const ByteView bytes, r.bytes("engagement", verify::kMaxEngagementBytes));
    ISOBIT_TRY(engagement, verify::decode_engagement(bytes, what + ", engagement"));
  }
  return {};
}

void write_messages(ByteWriter& w, const std::vector<Bytes>& messages) {
  w.u64(messages.size());
  for (const Bytes& message : messages) w.bytes(message);
}

Expected<std::vector<Bytes>> read_messages(ByteReader& r) {
  std::vector<Bytes> messages;
  ISOBIT_TRY(const uint64_t count, r.u64("messages"));
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const ByteView message, r.bytes("message", r.remaining()));
    messages.emplace_back(message.begin(), message.end());
  }
  return messages;
}

}  // namespace isobit::dispute
