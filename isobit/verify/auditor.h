// Compares a claimed transcript with a replay, leaf by leaf, and stops at the first difference. Pure: whatever computes
// the steps comes as an argument.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/verify/replay.h"
#include "isobit/verify/transcript.h"

namespace isobit::verify {

enum class Part { kSignature, kStructure, kJob, kInitialState, kBatch, kLoss, kLog, kState, kEvaluation, kCheckpoint };
// "signature", "structure", "job", "initial_state", "batch", "loss", "log", "state", "evaluation", "checkpoint".
const char* name_of(Part part);

struct FirstDifference {
  uint64_t step = 0;  // of the leaf that differs; 0 for the initial leaf, the number of steps for the final one
  // The steps among which the wrong computation is; equal when known exactly. Where state roots are committed only now
  // and then, a wrong loss may come from a wrong state since the last committed one that agreed.
  uint64_t first_step = 0;
  uint64_t last_step = 0;
  Part part = Part::kStructure;
  std::string claimed;  // hex or decimal text
  std::string found;
  std::optional<std::string> op;  // first differing operator; unknown until a dispute names it
};

// Inconclusive: trainer and auditor differ, and what the auditor knows cannot tell which of them is wrong (its own
// results are beyond the job's bound).
enum class Outcome : uint8_t { kAccepted = 0, kRejected = 1, kInconclusive = 2 };
const char* name_of(Outcome outcome);  // "accepted", "rejected", "inconclusive"

struct AuditVerdict {
  Outcome outcome = Outcome::kRejected;
  bool complete = false;  // whether every leaf was compared; else acceptance speaks for the compared ones only
  uint64_t steps_checked = 0;
  std::optional<FirstDifference> first_difference;  // present iff not accepted
  std::string reason;                               // one sentence for people

  bool accepted() const { return outcome == Outcome::kAccepted; }
};

struct AuditOptions {
  // What the auditor's own reading of the job gives; a transcript of other rules or another job is rejected.
  TranscriptRules rules;
  commit::Digest job_root{};
  // The replayer stands after this step. Its state is compared with the claimed root, so the step must be one whose
  // state is committed (kUsage otherwise). 0: the initial state, regenerated from the job.
  uint64_t from_step = 0;
  // The last step to replay; without it all of them, the final state and the evaluation.
  std::optional<uint64_t> until_step;
  // The batch commitment of a step (1 .. rules.steps), from job and dataset alone, without replaying anything. REQUIRES
  // set for audit_sample.
  std::function<Expected<commit::Digest>(uint64_t step)> batch;
  // What the arithmetic of the job leaves open, as words that follow a verdict's reason: where loss, state or
  // evaluation differ without anybody being caught, and of every verdict.
  std::string difference_note;
  std::string note;
  // Called after each step with the steps done and to do.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// An error is no verdict: it means that this machine could not carry out the audit.
Expected<AuditVerdict> audit(const Transcript& claimed, Replayer& replayer, const AuditOptions& options);

// --- A sample of the run ---

// The steps between two neighbouring committed states: first_step - 1 and last_step.
struct Interval {
  uint64_t first_step = 0;
  uint64_t last_step = 0;
  bool operator==(const Interval&) const = default;
};

// All of them, in order; the last one ends with the last step, whether its state is committed or not.
std::vector<Interval> intervals_of(const TranscriptRules& rules);

// A shorter seed could be guessed, and a root ground for it.
inline constexpr size_t kMinSeedBytes = 16;
inline constexpr size_t kMaxSeedBytes = 1024;  // fits a verdict
// kUsage, for who gives a seed (--seed), unless it is between the two.
Status check_seed(ByteView seed);

// The last interval and `count` others (all when there are fewer), in order, a pure function of the seed and the
// finished transcript. The trainer must not know the seed before its final head is published. REQUIRES
// claimed.complete(), seed.size() >= kMinSeedBytes.
std::vector<Interval> draw_intervals(const Transcript& claimed, uint64_t count, ByteView seed);

// The probability that at least one of `wrong` wrong intervals is among `sampled` of `total` drawn.
// REQUIRES wrong, sampled <= total.
double detection_probability(uint64_t total, uint64_t wrong, uint64_t sampled);
// That one wrong interval, anywhere but in the last place, is among `drawn` others. A wrong last one is always found.
// REQUIRES drawn < intervals, unless both are 0.
double sample_detection_probability(uint64_t intervals, uint64_t drawn);

// Replays the intervals (from draw_intervals; the last one of the run is added where it is missing), each from the
// nearest start at or before it; what lies between is compared too. Also compares the initial state, the batch of every
// step, the final state and the evaluation. Starts whose state is not committed are passed over. options.from_step and
// until_step are ignored.
Expected<AuditVerdict> audit_sample(const Transcript& claimed, ReplayerSource& source,
                                    const std::vector<Interval>& intervals, const AuditOptions& options);

// --- Without replaying ---

// Whether the transcript contradicts itself: its last step and its final leaf claim different states.
std::optional<FirstDifference> self_contradiction(const Transcript& claimed);

// Whether a checkpoint of `step` with state root `found` is the claimed state; none also where no root is committed.
std::optional<FirstDifference> compare_checkpoint(const Transcript& claimed, uint64_t step,
                                                  const commit::Digest& found);

// The first bytes of a text of a verdict, as many as it may have, and no half of a character.
inline constexpr size_t kMaxVerdictText = 2048;
std::string shortened(std::string text);

// A verdict for a bundle that was rejected before any replay. The reason, which may quote what a stranger wrote, is
// shortened.
AuditVerdict rejected_verdict(Part part, std::string reason);

}  // namespace isobit::verify
