// Audits a run bundle by replaying its job on a platform of the auditor's.
#pragma once

#include <functional>
#include <optional>

#include "isobit/base/file.h"
#include "isobit/commit/signature.h"
#include "isobit/platform/platform.h"
#include "isobit/run/job_size.h"
#include "isobit/run/static_checks.h"
#include "isobit/run/step_logs.h"
#include "isobit/train/job.h"
#include "isobit/verify/auditor.h"
#include "isobit/verify/engagement.h"
#include "isobit/verify/evidence.h"
#include "isobit/verify/verdict.h"

namespace isobit::run {

struct AuditRequest {
  fs::path run;
  commit::PublicKey client;  // pinned by the auditor
  platform::Platform platform;
  Limits limits;
  // Where the auditor's own copy of the data lies, which job is wanted and under which terms: as in OpenRequest.
  std::vector<std::string> overrides;
  std::optional<train::Job> job;
  std::optional<verify::EngagementTerms> terms;
  fs::path home;                      // of the auditor's registers; empty: nothing is looked up or noted down
  std::optional<uint64_t> from_step;  // replay from the checkpoint of this step
  std::optional<uint64_t> sample;     // replay this many intervals, drawn with sample_seed, and the last one
  Bytes sample_seed;                  // at least verify::kMinSeedBytes, unknown to the trainer until its final head
  Progress checkpoint_progress;       // after each checkpoint that was compared with what the trainer signed
  Progress progress;                  // after each step that was replayed
  std::function<double()> seconds;    // a clock, for AuditSummary::step_seconds
};

struct AuditSummary {
  verify::AuditVerdict verdict;
  // Which run the verdict is of, as far as the bundle could be believed: `engaged` once the client's engagement is
  // valid, `finished` once everything that the trainer signed is.
  std::optional<verify::EngagedNames> engaged;
  std::optional<verify::FinishedNames> finished;
  std::string platform;
  // Of --sample: how many intervals there are, which were replayed (the last one always), and the chance to hit if one
  // of the others were wrong.
  uint64_t intervals = 0;
  std::vector<verify::Interval> sampled;
  double detection_probability = 1;
  platform::Repairs repairs;         // of arithmetic correct-1
  log::CountsByOperator log_counts;  // of arithmetic logged-1
  double step_seconds = 0;           // in the steps alone
  uint64_t step_bytes = 0;           // the most that the values of a step took at once, state included; 0 without one
  uint64_t before = 0;  // steps that an earlier follower had replayed, whose kept state this one went on from
  // Where the run does not extend a head that its trainer signed before: what convicts the trainer, if one key did
  // both.
  std::optional<verify::ForkEvidence> fork;
};

// A verdict whenever the bundle could be judged; an error when this machine could not (kUnreadable: no bundle, newer
// version, data missing; kUsage: a step without checkpoint). A run that was followed (follow_run.h) from this home must
// extend the last head that was seen of it.
Expected<AuditSummary> audit_run(const AuditRequest& request);
// The same on an engine of the caller's, whose platform takes the place of request.platform.
Expected<AuditSummary> audit_run(const AuditRequest& request, platform::Engine& engine);

}  // namespace isobit::run
