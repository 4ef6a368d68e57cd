// What both parties and the referee know before a dispute begins, each by their own reading of the job and the
// engagement: nothing of it comes from a message.
#pragma once

#include <cstdint>
#include <optional>

#include "isobit/platform/arithmetic.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/train/job.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/receipt.h"
#include "isobit/verify/transcript.h"

namespace isobit::dispute {

enum class Party : uint8_t { kTrainer = 0, kChallenger = 1 };
inline Party other(Party p) { return p == Party::kTrainer ? Party::kChallenger : Party::kTrainer; }
inline const char* name_of(Party p) { return p == Party::kTrainer ? "trainer" : "challenger"; }

struct Subject {
  verify::Engagement engagement;  // verified
  verify::TranscriptRules rules;
  platform::Arithmetic arithmetic;
  runtime::RoundingRules rounding;  // where the arithmetic rounds
  train::Job job;                   // for the rates of its steps
  // Of an inference (inference.h): what its server signed. It has no transcript and no job; the engagement is nobody's
  // and says what messages are bound to.
  std::optional<verify::InferenceReceipt> receipt = std::nullopt;
};

}  // namespace isobit::dispute
