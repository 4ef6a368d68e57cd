#include "isobit/run/follow_run.h"

#include "isobit/base/file_identity.h"
#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/run/audit_internal.h"
#include "isobit/run/kept_replay.h"
#include "isobit/run/registers.h"

namespace isobit::run {
namespace {

// So often in a row the same must be wrong with signed files before it is held against who signed them: a folder that
// is being written or copied changes meanwhile.
constexpr int kPatience = 20;

// A log that is damaged while the run goes on may be under its trainer's hands: the step is tried again from a file
// that is opened anew. What is wrong after the step was computed was no torn file.
class PatientReplay : public verify::Replayer {
 public:
  PatientReplay(verify::Replayer& replay, const bundle::BundleReader& reader, const Session& session)
      : replay_(replay), reader_(reader), session_(session) {}
  Expected<commit::Digest> state_root() override { return replay_.state_root(); }
  Expected<verify::StepOutcome> advance() override {
    const int64_t before = session_.trainer->step();
    ISOBIT_TRY(verify::StepOutcome outcome, replay_.advance());
    const bool damaged = outcome.fault && outcome.fault->kind == log::FaultKind::kDamaged;
    if (!damaged || reader_.finished() || session_.trainer->step() != before) return outcome;
    torn_ = outcome.fault->what;
    return unavailable(torn_);
  }
  Expected<verify::Evaluation> evaluate() override { return replay_.evaluate(); }
  // What was damaged, if that ended the last advance(). Forgotten then.
  std::string take_torn() { return std::exchange(torn_, ""); }

 private:
  verify::Replayer& replay_;
  const bundle::BundleReader& reader_;
  const Session& session_;
  std::string torn_;
};

// Changes whenever a head was written, or the run has ended.
struct Stamp {
  bool finished = false;
  std::optional<FileIdentity> heads;
  bool operator==(const Stamp&) const = default;

  static Expected<Stamp> of(const fs::path& run) {
    Stamp stamp;
    ISOBIT_TRY(const auto manifest, FileIdentity::of(run / bundle::kManifestFile, Links::kRefuse));
    ISOBIT_TRY(stamp.heads, FileIdentity::of(run / bundle::kHeadsFile, Links::kRefuse));
    stamp.finished = manifest.has_value();
    return stamp;
  }
};

class Follower {
 public:
  Follower(const FollowRequest& request, platform::Engine& engine) : request_(request), engine_(engine) {}

  Expected<FollowSummary> run() {
    if (!request_.wait) return usage_error("a run is followed with something that waits");
    if (!request_.keep.empty() && request_.audit.home.empty()) {
      return usage_error("what is kept of a replay is believed by what a home says of it, and there is none");
    }
    for (;;) {
      if (is_stopped()) return stopped();
      ISOBIT_TRY(const Stamp stamp, Stamp::of(request_.audit.run));
      if (stamp.finished) {
        if (!run_) ISOBIT_RETURN_IF_ERROR(go_on_with_the_ended());
        ISOBIT_TRY(AuditSummary ended, finish_audit(request_.audit, engine_, run_.get()));
        return with(std::move(ended));
      }
      if (looks_again_ || stamp != stamp_) ISOBIT_RETURN_IF_ERROR(look());
      if (!ended_) ISOBIT_RETURN_IF_ERROR(replay());
      if (ended_) return with(*std::move(ended_));
      if (is_stopped()) return stopped();
      stamp_ = stamp;
      tell();
      if (!request_.wait()) return stopped();
    }
  }

 private:
  bool is_stopped() const { return request_.stop != nullptr && *request_.stop; }

  void tell() {
    if (request_.progress) request_.progress(at_);
  }

  void wait_for(std::string what, std::string problem = "") {
    at_.waits_for = std::move(what);
    at_.problem = std::move(problem);
  }

  Expected<FollowSummary> stopped() {
    if (at_.checked > kept_at_) ISOBIT_RETURN_IF_ERROR(keep());
    return summary();
  }
  FollowSummary summary() const {
    FollowSummary s{std::nullopt, at_, std::nullopt};
    if (run_) s.last_head = run_->last;
    return s;
  }
  FollowSummary with(AuditSummary ended) const {
    FollowSummary s = summary();
    s.at.waits_for = s.at.problem = "";
    ended.before = at_.before;
    s.ended = std::move(ended);
    return s;
  }

  void end(verify::AuditVerdict verdict, std::optional<verify::ForkEvidence> fork = std::nullopt) {
    ended_.emplace();
    ended_->verdict = std::move(verdict);
    ended_->verdict.steps_checked = std::max(ended_->verdict.steps_checked, at_.checked);
    ended_->platform = engine_.platform().text();
    ended_->engaged = names_in_engagement(request_.audit);
    ended_->fork = std::move(fork);
    if (!run_) return;
    ended_->engaged = engaged_names(run_->reader);
    run_->end_replay();
    ended_->log_counts = run_->tally.log_counts;
    ended_->step_seconds = run_->tally.step_seconds;
    ended_->step_bytes = run_->tally.memory.peak_bytes;
    ended_->repairs = run_->repairs();
  }

  // Opens the run as it is now, and takes over what is new and signed.
  Status look() {
    looks_again_ = true;  // until all of it was taken
    ISOBIT_TRY(const bool taken, read_on());
    if (taken) return note();
    auto opened = open_run(open_request(request_.audit));
    if (!opened) return not_opened(std::move(opened).error());
    times_ = 0;
    if (opened->reader.finished()) return {};  // it has just ended: what was read before that is read again
    if (run_ && opened->reader.engagement() != run_->reader.engagement()) {
      end(another_run());
      return {};
    }
    if (opened->reader.heads().empty()) {
      looks_again_ = false;
      wait_for("the first signed head");
      return {};
    }
    ISOBIT_TRY(const auto seen, seen_before(request_.audit, opened->reader));
    for (const auto& before : {run_ ? std::optional(run_->last) : std::nullopt, seen}) {
      std::optional<verify::ForkEvidence> fork;
      auto other = before ? check_extends(opened->reader, *before, fork) : std::nullopt;
      if (!other) continue;
      end(*std::move(other), std::move(fork));
      return {};
    }
    return run_ ? go_on(std::move(opened->reader)) : begin(*std::move(opened));
  }

  // What was signed since, where the run is what it was with something at its end; else it is opened anew, which says
  // what it is. The register may know of more than this follower has seen.
  Expected<bool> read_on() {
    if (!run_ || std::exchange(opens_anew_, false)) return false;
    const auto front = open_front(open_request(request_.audit));
    if (!front) return false;
    const uint64_t seen_size = run_->last.tree.size;
    ISOBIT_TRY(const bool taken, run_->reader.read_on(front->front, *limits_));
    if (!taken) return false;
    ISOBIT_TRY(const auto seen, seen_before(request_.audit, run_->reader));
    const uint64_t now = run_->reader.heads().back().tree.size;
    if (seen && seen->tree.size > seen_size && seen->tree.size <= now) return false;
    times_ = 0;
    run_->last = run_->reader.heads().back();
    return true;
  }

  // Who is not there yet may come; what is signed and wrong must be so for a while.
  Status not_opened(Error error) {
    if (error.code != ErrorCode::kRejected && error.code != ErrorCode::kUnreadable) {
      return tl::unexpected<Error>(std::move(error));
    }
    times_ = error.code == ErrorCode::kRejected && error.message == at_.problem ? times_ + 1 : 1;
    wait_for("the trainer", error.message);
    if (error.code == ErrorCode::kRejected && times_ >= kPatience) {
      end(verify::rejected_verdict(verify::Part::kStructure, std::move(error.message)));
    }
    return {};
  }

  // A run that ended while nobody followed it: from the state that was kept of it. Whatever is wrong with it is the
  // whole audit's to say.
  Status go_on_with_the_ended() {
    if (request_.keep.empty()) return {};
    auto opened = open_run(open_request(request_.audit));
    if (!opened || opened->reader.heads().empty()) return {};
    ISOBIT_TRY(const auto newest, kept_of(opened->reader).newest());
    if (!newest) return {};
    ISOBIT_RETURN_IF_ERROR(begin(*std::move(opened)));
    if (ended_) run_.reset();
    ended_.reset();
    if (run_) tell();
    return {};
  }

  KeptReplays& kept_of(const bundle::BundleReader& reader) {
    const verify::Engagement& engagement = reader.engagement();
    return kept_.emplace(request_.keep, request_.audit.home,
                         JudgedRun{request_.audit.client, engagement.trainer_key, engagement.terms.run_id});
  }

  Status begin(OpenedRun opened) {
    if (!request_.keep.empty()) {
      ISOBIT_TRY(const auto newest, kept_of(opened.reader).newest());
      const uint64_t covered = opened.reader.heads().back().tree.size;
      if (newest && covered <= *newest) {
        wait_for("the trainer", text_of("the run has signed heads of at most ", covered, " leaves now, and was ",
                                        "replayed up to step ", *newest, " before"));
        return {};  // looked at again until they are back
      }
    }
    ISOBIT_TRY(Session session, open_session(opened.job, engine_, request_.audit.limits, Purpose::kAudit));
    const Status same = check_job_root(session, opened.reader.engagement().terms.job_root);
    ISOBIT_TRY(limits_, run_limits(opened.job, request_.audit.limits));
    run_ = std::make_unique<Followed>(std::move(opened.reader), std::move(session));
    if (!same) {
      end(verify::rejected_verdict(verify::Part::kJob, same.error().message));
      return {};
    }
    Followed& r = *run_;
    ISOBIT_TRY(const uint64_t from, take_up());
    r.replay = std::make_unique<RunReplay>(r.session, r.reader, engine_, r.tally, request_.audit.seconds);
    auto patient = std::make_unique<PatientReplay>(*r.replay, r.reader, r.session);
    patient_ = patient.get();
    r.patient = std::move(patient);
    r.audit = std::make_unique<verify::GrowingAudit>(r.reader.transcript(), *r.patient,
                                                     audit_options(request_.audit, r.session), from);
    at_.steps = r.reader.transcript().rules().steps;
    const auto every = static_cast<uint64_t>(std::max<int64_t>(r.session.job.checkpoint_every, 0));
    keep_every_ = every > 0 ? every : std::max<uint64_t>(1, at_.steps / 20);
    return note();
  }

  // Where the kept state stands, which becomes the session's; 0 where nothing was kept.
  Expected<uint64_t> take_up() {
    if (!kept_) return 0;
    Followed& r = *run_;
    ISOBIT_TRY(const auto kept, kept_->take_up(r.reader.transcript(), r.session, engine_));
    if (!kept) return 0;
    r.tally = {kept->log_counts, kept->step_seconds};
    r.repaired_before = kept->repairs;
    at_.before = at_.checked = kept_at_ = kept->step;
    return kept->step;
  }

  // Only a state that agreed with a committed one.
  Status keep() {
    if (!kept_ || !run_) return {};
    const Followed& r = *run_;
    if (!r.reader.transcript().rules().has_state(at_.checked)) return {};
    KeptReplay kept{at_.checked, r.reader.transcript().sized_root(at_.checked + 1).root, r.tally.step_seconds,
                    r.repairs(), r.tally.log_counts};
    for (const auto& [op, counts] : r.replay->log_counts()) kept.log_counts[op] += counts;
    ISOBIT_RETURN_IF_ERROR(kept_->keep(kept, *r.session.trainer));
    kept_at_ = at_.checked;
    return {};
  }

  Status go_on(bundle::BundleReader reader) {
    if (reader.heads().back().tree.size < run_->last.tree.size) {
      wait_for("the trainer", text_of("the run has signed heads of at most ", reader.heads().back().tree.size,
                                      " leaves now, one of ", run_->last.tree.size, " was seen before"));
      return {};  // looked at again until they are back
    }
    run_->reader = std::move(reader);
    run_->last = run_->reader.heads().back();
    return note();
  }

  Status note() {
    looks_again_ = false;
    const verify::SignedHead& last = run_->last;
    at_.signed_for = std::min(last.tree.size - 1, at_.steps);
    wait_for("");
    if (request_.audit.home.empty()) return {};
    const JudgedRun of{request_.audit.client, last.key, last.run_id};
    return note_followed(request_.audit.home, of, last);
  }

  // All that is signed for.
  Status replay() {
    if (!run_) return {};
    while (run_->audit->leaves() <= at_.signed_for) {
      if (is_stopped()) return {};
      const auto agrees = run_->audit->compare_next();
      if (!agrees) {
        std::string torn = patient_->take_torn();
        if (torn.empty()) return tl::unexpected<Error>(agrees.error());
        wait_for("the trainer", std::move(torn));
        looks_again_ = opens_anew_ = true;
        return {};
      }
      if (!*agrees) {
        end(run_->audit->verdict());
        return {};
      }
      at_.checked = run_->audit->leaves() - 1;
      if (at_.checked >= kept_at_ + keep_every_) ISOBIT_RETURN_IF_ERROR(keep());
      wait_for("");
      tell();
    }
    const bool is_whole = run_->last.tree.size == at_.steps + 2;
    if (!looks_again_) wait_for(is_whole ? "the manifest" : "the next signed head");
    return {};
  }

  const FollowRequest& request_;
  platform::Engine& engine_;
  std::unique_ptr<Followed> run_;  // none until a head was seen
  std::optional<KeptReplays> kept_;
  uint64_t kept_at_ = 0, keep_every_ = 1;  // steps
  PatientReplay* patient_ = nullptr;
  std::optional<AuditSummary> ended_;
  Stamp stamp_;
  bool looks_again_ = true;
  bool opens_anew_ = false;  // something was damaged in what was read
  std::optional<bundle::RunLimits> limits_;
  int times_ = 0;  // that the same was wrong
  FollowProgress at_;
};

}  // namespace

Expected<FollowSummary> follow_run(const FollowRequest& request) {
  platform::Engine engine(request.audit.platform);
  return Follower(request, engine).run();
}

}  // namespace isobit::run
