// What convicts a trainer without any replay: two heads of one run, both by its key, that no append-only transcript has
// both.
// Byte layout: docs/formats/evidence.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/merkle.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/head.h"
#include "isobit/verify/transcript.h"

namespace isobit::verify {

inline constexpr std::string_view kEvidenceTag = "isobit.evidence";
inline constexpr size_t kMaxEvidenceBytes = 1 << 16;

// A fork: the tree of `newer` had another root at the size of `older` than `older` says.
struct ForkEvidence {
  Engagement engagement;
  SignedHead older;                // of at least one leaf and no more than newer
  SignedHead newer;                // by the same key, which countersigned the engagement
  commit::Digest prefix_root{};    // of the first older.tree.size leaves of the newer tree
  commit::ConsistencyProof proof;  // from there to the newer tree
  bool operator==(const ForkEvidence&) const = default;
};

// One party's copy of a run: heads that grow, each of this transcript (verify_heads).
struct History {
  const Transcript* transcript = nullptr;
  std::span<const SignedHead> heads;
};

// The fork whose older head is the smallest that there is, between two copies of one run whose heads are valid under
// the engagement. Heads of other keys than engagement.trainer_key are passed over: nobody answers for what another key
// signed, nor under an engagement that it did not accept. None when every head of that key in each copy agrees with the
// leaves that it signed in the other, as far as both go.
std::optional<ForkEvidence> find_fork(const Engagement& engagement, const History& a, const History& b);

// Whether a head of one copy, by whatever key, contradicts leaves of the other that a head covers. Where this holds and
// find_fork finds nothing, two histories were signed, and nobody in particular signed both.
bool heads_contradict(const History& a, const History& b);

// kRejected unless it shows that one key, engagement.trainer_key, signed two histories of the run that it accepted.
// Needs nothing else: neither the run nor anybody's key. The client's signature is there only to say whose engagement
// it was; the client chose the list of trainer keys, so that being on the list is no trainer's doing.
Status verify_evidence(const ForkEvidence& evidence);

Bytes encode(const ForkEvidence& evidence);
// Accepts exactly what encode() writes; checks no signature. `what` starts the messages.
Expected<ForkEvidence> decode_evidence(ByteView data, const std::string& what);

}  // namespace isobit::verify
