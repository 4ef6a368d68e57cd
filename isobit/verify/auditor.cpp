#include "isobit/verify/auditor.h"

#include "isobit/base/text.h"
#include "isobit/verify/walk_internal.h"

namespace isobit::verify {

const char* name_of(Part part) {
  switch (part) {
    case Part::kSignature:
      return "signature";
    case Part::kStructure:
      return "structure";
    case Part::kJob:
      return "job";
    case Part::kInitialState:
      return "initial_state";
    case Part::kBatch:
      return "batch";
    case Part::kLoss:
      return "loss";
    case Part::kLog:
      return "log";
    case Part::kState:
      return "state";
    case Part::kEvaluation:
      return "evaluation";
    case Part::kCheckpoint:
      return "checkpoint";
  }
  return "structure";
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAccepted:
      return "accepted";
    case Outcome::kRejected:
      return "rejected";
    case Outcome::kInconclusive:
      return "inconclusive";
  }
  return "rejected";
}

std::string shortened(std::string text) {
  if (text.size() <= kMaxVerdictText) return text;
  size_t end = kMaxVerdictText;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

AuditVerdict rejected_verdict(Part part, std::string reason) {
  AuditVerdict verdict;
  verdict.first_difference = FirstDifference{};
  verdict.first_difference->part = part;
  verdict.reason = shortened(std::move(reason));
  return verdict;
}

std::optional<FirstDifference> self_contradiction(const Transcript& claimed) {
  if (!claimed.complete()) return std::nullopt;
  const uint64_t steps = claimed.rules().steps;
  const commit::Digest& final = claimed.final().state_root;
  const auto last = claimed.committed_state(steps);
  if (!last || *last == final) return std::nullopt;
  return FirstDifference{steps, steps, steps, Part::kState, commit::hex_of(final), commit::hex_of(*last), {}};
}

std::optional<FirstDifference> compare_checkpoint(const Transcript& claimed, uint64_t step,
                                                  const commit::Digest& found) {
  const auto root = claimed.committed_state(step);
  if (!root || *root == found) return std::nullopt;
  return FirstDifference{step, step, step, Part::kCheckpoint, commit::hex_of(*root), commit::hex_of(found), {}};
}

Expected<AuditVerdict> audit(const Transcript& claimed, Replayer& replayer, const AuditOptions& options) {
  Walk walk(claimed, options);
  if (!walk.claims_the_job()) return walk.verdict();
  const uint64_t steps = claimed.rules().steps;
  const uint64_t until = options.until_step.value_or(steps);
  if (options.from_step > until || until > steps) {
    return usage_error(text_of("cannot audit from step ", options.from_step, " until step ", until,
                               ": expected 0 <= from <= until <= ", steps));
  }
  walk.plan(until - options.from_step);
  ISOBIT_TRY(bool agrees, walk.begin(replayer, options.from_step));
  if (agrees) {
    ISOBIT_TRY(agrees, walk.advance_to(until));
  }
  if (agrees && until == steps) {
    ISOBIT_TRY(agrees, walk.compare_final());
  }
  if (agrees) walk.accept(options.from_step == 0 && until == steps);
  return walk.verdict();
}

}  // namespace isobit::verify
