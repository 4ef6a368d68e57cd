// What a spot check found, as a file: the engagement, or the receipt of an inference, what the draws were made from,
// and the trainer's messages up to the false one. Whoever has it (and the job) draws again, looks at the same answers
// and finds the same; what is false is false by values that the trainer signed, so nobody has to be believed. Byte
// layout: docs/formats/dispute.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/dispute/spot_check.h"

namespace isobit::dispute {

inline constexpr std::string_view kSpotRecordTag = "isobit.spot.record";
inline constexpr std::string_view kReceiptSpotRecordTag = "isobit.receipt-spot.record";
inline constexpr uint64_t kMaxSpotRecordBytes = uint64_t{256} << 20;

struct SpotRecord {
  verify::Engagement engagement;
  Bytes seed;                    // as verify::check_seed takes it
  uint64_t draws = 1;            // at most kMaxSpotDraws
  std::optional<uint64_t> step;  // as SpotCheck was given it
  std::vector<Bytes> messages;   // that counted, in order
  // Of an inference, in place of an engagement.
  std::optional<verify::InferenceReceipt> receipt = std::nullopt;
  bool operator==(const SpotRecord&) const = default;
};

Bytes encode(const SpotRecord& record);
// Accepts exactly what encode() writes of at most kMaxSpotRecordBytes; checks no signature. `what` starts the messages.
Expected<SpotRecord> decode_spot_record(ByteView data, const std::string& what);

// What the record proves. An honest trainer has signed no messages from which it could be made, whoever drew.
struct SpotProof {
  SpotFinding finding;
  // Of a run: that of the transcript in which the trainer showed the states around the step.
  std::optional<commit::Digest> transcript_root;
  uint64_t checked = 0;  // elements, the false one included
};
// subject: by one's own reading of the job, its engagement being the record's, verified; of an inference that of the
// receipt (subject_of). kRejected: a message does not
// count, or nothing that they show is false.
Expected<SpotProof> prove(const SpotRecord& record, const Subject& subject);

// Questions and answers in files that appear while they are read: only a whole one opens. kUnreadable otherwise.
Bytes seal_spot_file(ByteView content);
Expected<Bytes> open_spot_file(ByteView file, const std::string& what);

}  // namespace isobit::dispute
