// What a party says, in pieces that one gRPC message holds, so that no message is longer than those that questions need
// and lists may still be as long as a dispute allows; and what a party says of itself. Layout: docs/formats/service.md.
#pragma once

#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/signature.h"
#include "isobit/dispute/subject.h"
#include "isobit/verify/engagement.h"

namespace isobit::service {

inline constexpr size_t kPieceBytes = 256 << 10;
// The most of one gRPC message, either way: a question with all that was said before is shorter.
inline constexpr size_t kMaxGrpcBytes = (1 << 20) + 1024;
inline constexpr size_t kMaxSaid = 4;  // messages that one question leads to: a restart, an answer, and some room
inline constexpr size_t kMaxChallengerKeys = 1024;

struct PieceView {
  ByteView bytes;
  bool ends = false;
};
// Views into the messages. A message without bytes is one piece.
std::vector<PieceView> cut(const std::vector<Bytes>& messages);

// Puts them together again. Holds no more than `most` bytes of all messages.
class Assembly {
 public:
  explicit Assembly(uint64_t most) : most_(most) {}
  // kUnreadable beyond `most` or kMaxSaid; then nothing more is taken.
  Status add(ByteView bytes, bool ends);
  // kUnreadable where the last message did not end.
  Expected<std::vector<Bytes>> finish();

 private:
  const uint64_t most_;
  uint64_t bytes_ = 0;
  bool within_ = false;
  std::vector<Bytes> messages_;
};

// Whom one has called. Nobody's word: the engagement is signed, and whose the keys are shows when they sign.
struct About {
  dispute::Party party = dispute::Party::kTrainer;
  verify::Engagement engagement;
  std::vector<commit::PublicKey> challenger_keys;
  bool operator==(const About&) const = default;
};
// As the message AboutReply.
std::string encode(const About& about);
// kUnreadable for anything else; checks no signature.
Expected<About> decode_about(ByteView data, const std::string& what);

}  // namespace isobit::service
