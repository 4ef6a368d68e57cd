// What the reader's own reading of a job allows a run of it to take on the disk. Whatever a trainer sends is measured
// against this before any of it is read, so that nothing is sized by a number that the trainer chose.
#pragma once

#include <cstdint>
#include <string_view>

#include "isobit/base/status.h"
#include "isobit/verify/transcript.h"

namespace isobit::bundle {

struct RunLimits {
  verify::TranscriptRules rules;   // what the header of the transcript must say
  uint64_t checkpoint_bytes = 0;   // the most that one checkpoint may have, its header included
  uint64_t log_segment_bytes = 0;  // the most that the log of one step may have as it is stored; 0 without a log

  // Of whole files. REQUIRES rules.check().
  uint64_t transcript_bytes() const;
  uint64_t heads_bytes() const;
  uint64_t log_bytes() const;
  // Of a file of a run by its path in the bundle ("heads", "checkpoints/step-3.safetensors"); 0 for any other name.
  uint64_t file_bytes(std::string_view path) const;
};

// kRejected unless the header of a transcript says what the job says. `what` starts the message.
Status check_rules(const verify::TranscriptRules& found, const verify::TranscriptRules& job, std::string_view what);

}  // namespace isobit::bundle
