// The contract of one run: the client signs what may be claimed in its name and by whom, the trainer countersigns.
// Byte layout: docs/formats/engagement.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/signature.h"

namespace isobit::verify {

inline constexpr size_t kMaxTrainerKeys = 64;

// What the client signs.
struct EngagementTerms {
  commit::Digest job_root{};
  commit::RunId run_id{};
  commit::PublicKey client_key;
  // The keys that may sign heads and manifests of this run. Strictly increasing (as bytes), 1 to kMaxTrainerKeys.
  std::vector<commit::PublicKey> trainer_keys;
  // The time a party has to answer in a dispute before it forfeits, and the longer one it has after it announced a
  // restart. Both at least 1. Nothing of a run or an audit depends on them.
  uint64_t response_seconds = 600;
  uint64_t restart_seconds = 3600;
  bool operator==(const EngagementTerms&) const = default;
};

struct Engagement {
  EngagementTerms terms;
  commit::Signature client_signature;
  commit::PublicKey trainer_key;        // the one of terms.trainer_keys that countersigned
  commit::Signature trainer_signature;  // over the terms, the client's signature and trainer_key
  bool operator==(const Engagement&) const = default;

  // Whether `key` may speak for the trainer.
  bool engages(const commit::PublicKey& key) const;
};

// Client and trainer in one place, as for a run that one person makes and checks. Sorts the keys, removes repeats and
// sets terms.client_key. kUsage when the terms are not valid or `trainer` is not among the keys.
Expected<Engagement> make_engagement(EngagementTerms terms, const commit::SecretKey& client,
                                     const commit::SecretKey& trainer);

// The two halves. sign_terms: kUsage when the terms are not valid or name another client key.
Expected<commit::Signature> sign_terms(const EngagementTerms& terms, const commit::SecretKey& client);
// kRejected when the client's signature is not valid; kUsage when `trainer` is not engaged.
Expected<Engagement> countersign(const EngagementTerms& terms, const commit::Signature& client_signature,
                                 const commit::SecretKey& trainer);

// kRejected unless the client is the pinned one and both signatures are valid. The pinned key comes from the caller,
// never from the run.
Status verify_engagement(const Engagement& engagement, const commit::PublicKey& pinned_client);

Bytes encode(const Engagement& engagement);
// Accepts exactly what encode() writes; checks no signature. `what` starts the messages.
Expected<Engagement> decode_engagement(ByteView data, const std::string& what);

}  // namespace isobit::verify
