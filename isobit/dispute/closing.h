// What ends a dispute beside the game itself: two different answers that one party signed, and the referee's word on
// how it ended, which is all that there is to show of a deadline that passed. Byte layout: docs/formats/dispute.md.
#pragma once

#include <array>
#include <string>

#include "isobit/dispute/message.h"
#include "isobit/dispute/verdict.h"

namespace isobit::dispute {

// Evidence against its signer, whatever the answers say: nobody who is honest signs two. A challenge answers nothing:
// of the turn 0 there is no such evidence.
struct Equivocation {
  std::array<Statement, 2> statements;
  bool operator==(const Equivocation&) const = default;
};
// kRejected unless both are validly signed by one key, to one turn and history, and differ.
Status verify_equivocation(const Equivocation& equivocation, const verify::EngagementTerms& terms);

// Signed by the engaged referee.
struct Closing {
  commit::PublicKey challenger;  // whose game it is
  uint64_t turn = 0;             // the one that was open, or would have come next
  commit::Digest history{};      // of the turns before
  Outcome outcome = Outcome::kBothForfeit;
  commit::Signature signature;
  bool operator==(const Closing&) const = default;
};
// Fills in the signature. REQUIRES the key that the terms name.
Closing sign_closing(Closing closing, const verify::EngagementTerms& terms, const commit::SecretKey& referee);
// kRejected unless the terms name a referee, and the signature is its.
Status verify_closing(const Closing& closing, const verify::EngagementTerms& terms);

Bytes encode(const Equivocation& equivocation);
Bytes encode(const Closing& closing);
// Accept exactly what encode() writes; check no signature. `what` starts the messages.
Expected<Equivocation> decode_equivocation(ByteView data, const std::string& what);
Expected<Closing> decode_closing(ByteView data, const std::string& what);

inline constexpr std::string_view kClosingTag = "isobit.dispute-closing";

}  // namespace isobit::dispute
