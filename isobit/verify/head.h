// Signed tree heads: at a size, the trainer stands by a root. Byte layout: docs/formats/transcript.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/signature.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/transcript.h"

namespace isobit::verify {

struct SignedHead {
  commit::SizedRoot tree;
  commit::Digest job_root{};
  commit::RunId run_id{};
  commit::PublicKey key;
  commit::Signature signature;
  bool operator==(const SignedHead&) const = default;
};

SignedHead sign_head(const commit::SizedRoot& tree, const EngagementTerms& terms, const commit::SecretKey& trainer);

// kRejected unless the head is of the engaged job and run, by an engaged key, and its signature is valid.
Status verify_head(const SignedHead& head, const Engagement& engagement);

// kRejected unless the heads grow strictly, each is valid as above and each root is that of the transcript's prefix of
// its size. `what` starts the messages. One pass over the transcript.
Status verify_heads(std::span<const SignedHead> heads, const Engagement& engagement, const Transcript& transcript,
                    const std::string& what);

// The cadence of heads. With head_every = n a head is due after step s when s is the first step with a committed state
// at or after a multiple of n (n, 2n, ...). More heads than that may be signed.
bool head_is_due(const TranscriptRules& rules, uint64_t head_every, uint64_t step);
// kRejected unless every head that was due up to the transcript's last step is there. `what` starts the message.
// REQUIRES heads that grow (verify_heads).
Status verify_cadence(std::span<const SignedHead> heads, uint64_t head_every, const Transcript& transcript,
                      const std::string& what);

// That `newer` extends `older`, for a party that has the transcript. REQUIRES older <= newer <= transcript.size().
commit::ConsistencyProof prove_extends(const Transcript& transcript, uint64_t older, uint64_t newer);
// For a party that has only the heads: kRejected when they are of different runs or newer does not extend older.
// Two valid heads of one run for which no proof can exist (same size, different roots) are a fork.
Status verify_extends(const SignedHead& older, const SignedHead& newer, const commit::ConsistencyProof& proof);

Bytes encode(const SignedHead& head);
Expected<SignedHead> decode_head(ByteView data, const std::string& what);

}  // namespace isobit::verify
