#include "isobit/run/audit_run.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/reader.h"
#include "isobit/data/order.h"
#include "isobit/run/audit_internal.h"
#include "isobit/run/bundle_replay.h"
#include "isobit/run/job_root.h"
#include "isobit/run/open_run.h"
#include "isobit/run/registers.h"
#include "isobit/run/static_checks.h"

namespace isobit::run {

namespace {

// The order of samples alone decides a batch, so that all of them can be checked without a step.
commit::Digest batch_of_step(const Session& session, uint64_t step) {
  const auto t = static_cast<int64_t>(step);
  std::vector<int64_t> indices(static_cast<size_t>(session.job.batch));
  for (size_t j = 0; j < indices.size(); ++j) {
    indices[j] = data::sample_index(session.job.seed, session.job.batch, session.dataset->train_count(), t - 1,
                                    static_cast<int64_t>(j));
  }
  return batch_digest(*session.commitment, t, indices);
}

// What the replay says.
Expected<verify::AuditVerdict> replay(const AuditRequest& request, const bundle::BundleReader& reader,
                                      const Session& session, BundleReplays& replays, AuditSummary& summary) {
  verify::AuditOptions options = audit_options(request, session);
  verify::AuditVerdict verdict;
  if (request.sample) {
    ISOBIT_RETURN_IF_ERROR(verify::check_seed(request.sample_seed));
    options.batch = [&session](uint64_t step) -> Expected<commit::Digest> { return batch_of_step(session, step); };
    summary.intervals = verify::intervals_of(options.rules).size();
    summary.sampled = verify::draw_intervals(reader.transcript(), *request.sample, request.sample_seed);
    const uint64_t drawn = summary.sampled.empty() ? 0 : summary.sampled.size() - 1;
    summary.detection_probability = verify::sample_detection_probability(summary.intervals, drawn);
    ISOBIT_TRY(verdict, verify::audit_sample(reader.transcript(), replays, summary.sampled, options));
  } else {
    options.from_step = request.from_step.value_or(0);
    ISOBIT_TRY(const std::unique_ptr<verify::Replayer> replay, replays.open(options.from_step));
    ISOBIT_TRY(verdict, verify::audit(reader.transcript(), *replay, options));
  }
  return verdict;
}

// Static checks count only if the replay finds nothing: the replay locates the earliest difference.
verify::AuditVerdict with_static_checks(verify::AuditVerdict verdict, const bundle::BundleReader& reader,
                                        const CheckpointRoots& roots) {
  auto found = verdict.accepted() ? static_finding(reader, roots) : std::nullopt;
  if (!found) return verdict;
  found->steps_checked = verdict.steps_checked;
  return *std::move(found);
}

// Whether there is a checkpoint to begin from: asked before anything takes long, or is noted.
Status check_from(const AuditRequest& request, const bundle::BundleReader& reader) {
  const uint64_t from = request.sample ? 0 : request.from_step.value_or(0);
  if (from == 0) return {};
  if (from == reader.transcript().rules().steps) {
    return usage_error(text_of("--from ", from, ": the run ends with that step, so this checks nothing; ",
                               "name an earlier checkpoint, or leave --from out"));
  }
  std::string have;
  for (const uint64_t step : reader.checkpoints()) {
    if (step == from) return {};
    have += text_of(have.empty() ? "" : ", ", step);
  }
  return usage_error(text_of("--from ", from, ": the run has no checkpoint of that step; it has ",
                             have.empty() ? "none" : "those of steps " + have));
}

// A run id stands for one run: who signs two finished ones under it has signed evidence against itself. The signer is
// the key of the last head, which covers all of the transcript; the engagement's list of keys is the client's.
JudgedRun judged_run(const AuditRequest& request, const bundle::BundleReader& reader) {
  return {request.client, reader.heads().back().key, reader.engagement().terms.run_id};
}

// Of a run whose transcript is not the one that was judged first.
std::optional<verify::AuditVerdict> check_first(const bundle::BundleReader& reader, const JudgedRun& run,
                                                const commit::Digest& first) {
  const commit::Digest root = reader.transcript().transcript_root();
  if (first == root) return std::nullopt;
  return verify::rejected_verdict(
      verify::Part::kStructure,
      text_of("another finished run by the trainer key ", commit::hex_of(run.trainer), " was judged under the run id ",
              to_hex(run.run_id), ": its transcript root is ", commit::hex_of(first), ", that of this one ",
              commit::hex_of(root),
              "; a trainer signs one run under a run id: keep both, and 'isobit verify A B' makes evidence of them"));
}

// A second run is rejected whatever is in it, so this comes before the data.
Expected<std::optional<verify::AuditVerdict>> judged_otherwise(const AuditRequest& request,
                                                               const bundle::BundleReader& reader) {
  if (request.home.empty()) return std::nullopt;
  const JudgedRun run = judged_run(request, reader);
  ISOBIT_TRY(const auto first, find_judged(request.home, run));
  return first ? check_first(reader, run, *first) : std::nullopt;
}

// Noted of a run whose data the auditor has. Another audit may have been faster meanwhile.
Expected<std::optional<verify::AuditVerdict>> note_and_check(const AuditRequest& request,
                                                             const bundle::BundleReader& reader) {
  if (request.home.empty()) return std::nullopt;
  const JudgedRun run = judged_run(request, reader);
  ISOBIT_TRY(const commit::Digest first, note_judged(request.home, run, reader.transcript().transcript_root()));
  return check_first(reader, run, first);
}

// What a logged arithmetic leaves open.
void add_notes(const train::Job& job, verify::AuditOptions& options) {
  if (!arithmetic_of(job).logs) return;
  if (leaves_log_unchecked(job)) options.note = kUncheckedLog;
  if (job.rounding.bound == train::DivergenceBound::kCalibrated) {
    options.difference_note =
        "the job's bound is calibrated, so an honest platform beyond it that did not notice differs likewise: the "
        "operands here may already differ, so this does not say who is at fault, and it calls no value illegal";
  }
}

// The replay of a run that was followed goes on where it is; else one begins.
Expected<verify::AuditVerdict> judge(const AuditRequest& request, const bundle::BundleReader& reader,
                                     const CheckpointRoots& roots, Session& session, platform::Engine& engine,
                                     ReplayTally& tally, Followed* followed, AuditSummary& summary) {
  BundleReplays replays(reader, session, engine, tally, request.seconds);
  auto judged = followed != nullptr ? followed->audit->conclude() : replay(request, reader, session, replays, summary);
  if (judged) return with_static_checks(*std::move(judged), reader, roots);
  // What the trainer signed is no state to begin from.
  if (judged.error().code != ErrorCode::kRejected) return judged;
  return verify::rejected_verdict(verify::Part::kCheckpoint, judged.error().message);
}

}  // namespace

verify::AuditOptions audit_options(const AuditRequest& request, const Session& session) {
  verify::AuditOptions options;
  options.rules = transcript_rules(session.job);
  options.job_root = session.root;
  options.progress = request.progress;
  add_notes(session.job, options);
  return options;
}

OpenRequest open_request(const AuditRequest& request) {
  return {.run = request.run,
          .client = request.client,
          .overrides = request.overrides,
          .job = request.job,
          .home = request.home,
          .terms = request.terms,
          .limits = request.limits,
          .checkpoints = bundle::Checkpoints::kLeave};
}

std::optional<verify::EngagedNames> names_in_engagement(const AuditRequest& request) {
  const fs::path file = request.run / bundle::kEngagementFile;
  const auto bytes = bundle::read_plain_file(file, verify::kMaxEngagementBytes);
  if (!bytes) return std::nullopt;
  const auto engagement = verify::decode_engagement(*bytes, file.string());
  if (!engagement || !verify::verify_engagement(*engagement, request.client)) return std::nullopt;
  return verify::EngagedNames{engagement->terms.job_root, engagement->terms.run_id};
}

std::optional<verify::AuditVerdict> check_extends(const bundle::BundleReader& reader, const verify::SignedHead& seen,
                                                  std::optional<verify::ForkEvidence>& fork) {
  const verify::Transcript& transcript = reader.transcript();
  const verify::SignedHead& newest = reader.heads().back();
  if (newest.tree.size < seen.tree.size) return std::nullopt;
  const auto proof = verify::prove_extends(transcript, seen.tree.size, newest.tree.size);
  if (verify::verify_extends(seen, newest, proof)) return std::nullopt;
  const verify::Transcript none(transcript.rules());
  const std::vector<verify::SignedHead> before = {seen};
  fork = verify::find_fork(reader.engagement(), {&none, before}, {&transcript, reader.heads()});
  if (fork && !verify::verify_evidence(*fork)) fork.reset();
  return verify::rejected_verdict(
      verify::Part::kStructure,
      text_of("two histories of the run were signed: its head of ", newest.tree.size,
              " leaves does not extend the one ", "of ", seen.tree.size, " leaves that was seen before, with the root ",
              commit::hex_of(seen.tree.root),
              fork ? "; both are by the trainer key " + commit::hex_of(fork->newer.key)
                   : "; they are not both by the trainer key that accepted the engagement, so they convict nobody"));
}

Expected<std::optional<verify::SignedHead>> seen_before(const AuditRequest& request,
                                                        const bundle::BundleReader& reader) {
  if (request.home.empty()) return std::nullopt;
  return find_followed(request.home, judged_run(request, reader));
}

Expected<AuditSummary> audit_run(const AuditRequest& request) {
  platform::Engine engine(request.platform);
  return audit_run(request, engine);
}

Expected<AuditSummary> audit_run(const AuditRequest& request, platform::Engine& engine) {
  return finish_audit(request, engine, nullptr);
}

Expected<AuditSummary> finish_audit(const AuditRequest& request, platform::Engine& engine, Followed* followed) {
  AuditSummary summary;
  summary.platform = engine.platform().text();
  const auto rejected_before = [&](Error error) -> Expected<AuditSummary> {
    if (error.code != ErrorCode::kRejected) return tl::unexpected<Error>(std::move(error));
    summary.verdict = verify::rejected_verdict(verify::Part::kStructure, std::move(error.message));
    summary.engaged = names_in_engagement(request);
    return summary;
  };
  auto opened = open_run(open_request(request));
  if (!opened) return rejected_before(std::move(opened).error());
  const bundle::BundleReader& reader = opened->reader;
  ISOBIT_RETURN_IF_ERROR(reader.require_finished());
  ISOBIT_RETURN_IF_ERROR(check_from(request, reader));
  // All of them, those that a replay begins from and reads again, too: it may take long, and nothing is said of the run
  // before all that the trainer signed has been found whole.
  auto roots = read_checkpoints(reader, engine.pool(), request.checkpoint_progress);
  if (!roots) return rejected_before(std::move(roots).error());

  summary.engaged = engaged_names(reader);
  summary.finished = finished_names(reader);
  const auto ended = [&](verify::AuditVerdict verdict) {
    summary.verdict = std::move(verdict);
    return summary;
  };
  if (followed != nullptr) {
    if (reader.engagement() != followed->reader.engagement()) return ended(another_run());
    if (auto other = check_extends(reader, followed->last, summary.fork)) return ended(*std::move(other));
  }
  ISOBIT_TRY(const auto seen, seen_before(request, reader));
  if (seen) {
    if (auto other = check_extends(reader, *seen, summary.fork)) return ended(*std::move(other));
  }
  ISOBIT_TRY(const auto second, judged_otherwise(request, reader));
  if (second) return ended(*second);
  std::optional<Session> own;
  if (followed == nullptr) {
    ISOBIT_TRY(own, open_session(opened->job, engine, request.limits, Purpose::kAudit));
    if (const Status same = check_job_root(*own, reader.engagement().terms.job_root); !same) {
      return ended(verify::rejected_verdict(verify::Part::kJob, same.error().message));
    }
  }
  // Only now is this a run that the auditor can judge.
  ISOBIT_TRY(const auto other, note_and_check(request, reader));
  if (other) return ended(*other);
  ReplayTally own_tally;
  Session& session = followed != nullptr ? followed->session : *own;
  ReplayTally& tally = followed != nullptr ? followed->tally : own_tally;
  if (followed != nullptr) followed->reader = std::move(opened->reader);
  const bundle::BundleReader& judged = followed != nullptr ? followed->reader : reader;
  ISOBIT_TRY(verify::AuditVerdict verdict, judge(request, judged, *roots, session, engine, tally, followed, summary));
  if (followed != nullptr) followed->end_replay();
  summary.log_counts = std::move(tally.log_counts);
  summary.step_seconds = tally.step_seconds;
  summary.step_bytes = tally.memory.peak_bytes;
  summary.repairs = followed != nullptr ? followed->repairs() : session.trainer->context().repairs();
  return ended(std::move(verdict));
}

verify::AuditVerdict another_run() {
  return verify::rejected_verdict(verify::Part::kStructure,
                                  "the folder holds a run under another engagement than when it was opened first");
}

}  // namespace isobit::run
