// The contract of one run: the client offers what may be claimed in its name and by whom, the trainer accepts by
// signing the offer in turn. Byte layout: docs/formats/engagement.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/signature.h"

namespace isobit::verify {

inline constexpr std::string_view kOfferTag = "isobit.offer", kEngagementTag = "isobit.engagement";
inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr size_t kMaxTrainerKeys = 64;
inline constexpr uint64_t kMaxDeadlineSeconds = uint64_t{30} * 86400;
inline constexpr uint64_t kMinMessageBytes = 768 << 10;  // what an honest party may have to say at least
inline constexpr uint64_t kMaxMessageBytes = 1 << 20;
inline constexpr uint64_t kMaxEngagementBytes = 1 << 14;   // and of an offer
inline constexpr uint64_t kMaxUnixSeconds = 253402300799;  // the last second of the year 9999

enum class Keeper : uint8_t { kNobody = 0, kTrainer = 1, kClient = 2 };
const char* name_of(Keeper keeper);  // "nobody", "trainer", "client"

// Who keeps something that a dispute may ask for, and until when (seconds since 1970, UTC). Nobody keeps it until 0,
// anybody else until a moment from 1 to kMaxUnixSeconds.
struct Availability {
  Keeper by = Keeper::kNobody;
  uint64_t until = 0;
  bool operator==(const Availability&) const = default;
};

// What the client signs.
struct EngagementTerms {
  uint32_t protocol_version = kProtocolVersion;  // of the dispute; kProtocolVersion is the only one there is
  commit::Digest job_root{};                     // of the job with the client's own data
  commit::Digest job_digest{};                   // of the canonical job alone: can be compared without any data
  commit::RunId run_id{};                        // fresh: one engagement, one run
  commit::PublicKey client_key;
  // The keys that may sign heads and manifests of this run. Strictly increasing (as bytes), 1 to kMaxTrainerKeys.
  std::vector<commit::PublicKey> trainer_keys;
  // Whose verdict on a dispute counts; neither the client's key nor a trainer's.
  std::optional<commit::PublicKey> referee_key;
  // The time a party has to answer in a dispute before it forfeits, and the one it has after it announced a restart.
  // 1 to kMaxDeadlineSeconds. Nothing of a run or an audit depends on them.
  uint64_t response_seconds = 600;
  uint64_t restart_seconds = 3600;
  uint64_t message_bytes = kMaxMessageBytes;  // the longest message of a dispute: kMinMessageBytes to kMaxMessageBytes
  // A head is signed at least at the first committed state at or after each multiple of so many steps (head.h).
  uint64_t head_every = 1;
  uint64_t accept_until = 0;  // the last second at which the offer may be accepted; 0: no end
  Availability checkpoints;
  Availability salts;
  bool operator==(const EngagementTerms&) const = default;
};

// Terms that wait for a trainer.
struct Offer {
  EngagementTerms terms;
  commit::Signature client_signature;
  bool operator==(const Offer&) const = default;
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

// The client's half. Sorts the trainers' keys and removes repeats, sets terms.client_key. kUsage when the terms are not
// valid.
Expected<Offer> make_offer(EngagementTerms terms, const commit::SecretKey& client);
// kRejected unless the terms are valid and signed by the client key that they name. Whether that key is the client's
// is for the caller to know.
Status verify_offer(const Offer& offer);
// The trainer's half. Errors as verify_offer; kUsage when `trainer` is not engaged.
Expected<Engagement> countersign(const Offer& offer, const commit::SecretKey& trainer);

// kRejected unless the client is the pinned one and both signatures are valid. The pinned key comes from the caller,
// never from the run.
Status verify_engagement(const Engagement& engagement, const commit::PublicKey& pinned_client);

// kRejected unless the terms are those that the client holds.
Status check_terms(const EngagementTerms& found, const EngagementTerms& wanted);

Bytes encode(const Offer& offer);
Bytes encode(const Engagement& engagement);
// Accept exactly what encode() writes; check no signature. `what` starts the messages.
Expected<Offer> decode_offer(ByteView data, const std::string& what);
Expected<Engagement> decode_engagement(ByteView data, const std::string& what);

}  // namespace isobit::verify
