// What goes between a referee and the parties beside their answers, over a network that loses, delays, repeats and
// changes what is sent: questions signed by the referee, so that a party answers nobody else, and a party's word that
// it has just started again. Byte layout: docs/formats/dispute.md.
#pragma once

#include <string>
#include <vector>

#include "isobit/dispute/referee.h"

namespace isobit::dispute {

inline constexpr std::string_view kQuestionTag = "isobit.dispute-question", kRestartTag = "isobit.dispute-restart";
inline constexpr uint64_t kMostSaid = 4096;  // bodies before a question: many times what a game has

// A question with what was said before it: whoever knows the game and its own answers can tell that its history is
// that of the game.
struct Asked {
  commit::PublicKey challenger;  // whose game it is
  Question question;
  std::vector<Referee::Said> said;
  commit::Signature signature;  // the referee's
  bool operator==(const Asked&) const = default;
};
// Fills in the signature. REQUIRES the key that the terms name.
Asked sign_question(Asked asked, const verify::EngagementTerms& terms, const commit::SecretKey& referee);
// kRejected unless the engaged referee signed it, and the history is that of what is said to have been said.
Status verify_question(const Asked& asked, const verify::EngagementTerms& terms);

// Signed by a party: it started again, and needs the time that the engagement has for that to answer this turn.
struct Restart {
  uint64_t turn = 0;
  commit::Digest history{};
  commit::PublicKey key;
  commit::Signature signature;
  bool operator==(const Restart&) const = default;
};
Restart sign_restart(uint64_t turn, const commit::Digest& history, const verify::EngagementTerms& terms,
                     const commit::SecretKey& key);
[[nodiscard]] bool verify_restart(const Restart& restart, const verify::EngagementTerms& terms);

Bytes encode(const Asked& asked);
Bytes encode(const Restart& restart);
// Accept exactly what encode() writes; check no signature. `what` starts the messages.
Expected<Asked> decode_question(ByteView data, const std::string& what);
Expected<Restart> decode_restart(ByteView data, const std::string& what);

}  // namespace isobit::dispute
