#include "isobit/bundle/run_limits.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/log_file.h"
#include "isobit/bundle/record_file.h"

namespace isobit::bundle {
namespace {

uint64_t record_bytes(size_t payload) { return kRecordOverhead + payload; }

// A leaf of a step with everything in it that the rules allow.
uint64_t step_record_bytes(const verify::TranscriptRules& rules) {
  verify::StepLeaf leaf;
  leaf.step = 1;
  leaf.loss = {rules.loss_dtype, 0};
  if (rules.logged) leaf.log_segment.emplace();
  leaf.state_root.emplace();
  return record_bytes(verify::encode(leaf).size());
}

std::string text_of_rules(const verify::TranscriptRules& rules) {
  return text_of("steps ", rules.steps, ", commit_every ", rules.commit_every, ", loss ", name_of(rules.loss_dtype),
                 ", logged ", rules.logged);
}

}  // namespace

uint64_t RunLimits::transcript_bytes() const {
  return transcript_header(rules).size() + rules.steps * step_record_bytes(rules) +
         2 * record_bytes(verify::kMaxLeafBytes);
}

// Heads grow, so there is at most one for each leaf.
uint64_t RunLimits::heads_bytes() const {
  return heads_header().size() + rules.leaves() * record_bytes(verify::encode(verify::SignedHead{}).size());
}

uint64_t RunLimits::log_bytes() const {
  if (!rules.logged) return 0;
  // Neither factor is over 2^40, so the product does not wrap.
  const uint64_t segment = record_bytes(std::min(log_segment_bytes, kMaxLogSegmentBytes));
  return std::min(kMaxLogBytes, log_header().size() + rules.steps * segment);
}

uint64_t RunLimits::file_bytes(std::string_view path) const {
  if (path == kJobFile) return kMaxJobBytes;
  if (path == kEngagementFile) return verify::kMaxEngagementBytes;
  if (path == kTranscriptFile) return transcript_bytes();
  if (path == kHeadsFile) return heads_bytes();
  if (path == kLogFile) return log_bytes();
  return is_bundle_file(path) ? checkpoint_bytes : 0;
}

Status check_rules(const verify::TranscriptRules& found, const verify::TranscriptRules& job, std::string_view what) {
  if (found == job) return {};
  return rejected(text_of(what, ": header: found ", text_of_rules(found), "; the job says ", text_of_rules(job)));
}

}  // namespace isobit::bundle
