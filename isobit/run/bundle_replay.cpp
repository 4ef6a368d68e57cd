#include "isobit/run/bundle_replay.h"

#include "isobit/base/text.h"
#include "isobit/run/static_checks.h"

namespace isobit::run {
namespace {

// The bundle was what the trainer signed when the replay began. What no longer is was changed here.
Error since_it_was_whole(Error error) {
  if (error.code != ErrorCode::kRejected) return error;
  return {ErrorCode::kUnavailable,
          text_of(error.message, "; it was what the trainer signed when the audit began, so it was changed on this ",
                  "machine, which says nothing of the trainer: audit a copy that nothing writes to")};
}

}  // namespace

RunReplay::RunReplay(Session& session, const bundle::BundleReader& bundle, platform::Engine& engine, ReplayTally& tally,
                     std::function<double()> seconds, StepFunction step, const LogUse& log)
    : session_(session),
      bundle_(bundle),
      engine_(engine),
      tally_(tally),
      seconds_(std::move(seconds)),
      step_(std::move(step)),
      log_bundle_(log.of == nullptr ? bundle : *log.of),
      on_illegal_(log.on_illegal) {
  if (!arithmetic_of(session.job).logs) return;
  const train::StepGraph& graph = session.trainer->step_graph();
  if (log.writes) {
    writer_ = log.writes(session.job, graph);
  } else {
    log_.emplace(session.job, graph, on_illegal_);
  }
}

RunReplay::~RunReplay() {
  if (!log_) return;
  for (const auto& [op, counts] : log_->counts()) tally_.log_counts[op] += counts;
}

Expected<verify::StepOutcome> RunReplay::advance_seen_by(runtime::Observer* observer) {
  const double begin = now();
  auto outcome = writer_                                         ? write_log(observer)
                 : !log_                                         ? advance_without_log(observer)
                 : on_illegal_ == runtime::OnIllegal::kTakeExact ? judge_log(observer)
                                                                 : advance_with_log(observer);
  tally_.step_seconds += now() - begin;
  return outcome;
}

Expected<verify::StepOutcome> RunReplay::advance_without_log(runtime::Observer* observer) {
  ISOBIT_TRY(const train::StepResult result,
             step_(*session_.trainer, {.observer = observer, .memory = &tally_.memory}));
  return outcome_of(result);
}

Expected<verify::Evaluation> RunReplay::evaluate() {
  ISOBIT_TRY(const train::SampleScores scored, session_.trainer->evaluate());
  return verify::EvaluationTree(scored).evaluation();
}

verify::StepOutcome RunReplay::outcome_of(const train::StepResult& r) const {
  verify::StepOutcome outcome;
  outcome.step = static_cast<uint64_t>(r.step);
  outcome.batch = batch_digest(*session_.commitment, r.step, r.indices);
  outcome.loss = verify::LossBits::of(r.loss);
  return outcome;
}

Expected<verify::StepOutcome> RunReplay::write_log(runtime::Observer* observer) {
  runtime::Stage& stage = writer_->begin(static_cast<uint64_t>(session_.trainer->step()) + 1);
  ISOBIT_TRY(const train::StepResult result,
             step_(*session_.trainer, {.observer = observer, .stage = &stage, .memory = &tally_.memory}));
  ISOBIT_TRY(const WrittenSegment written, writer_->end());
  verify::StepOutcome outcome = outcome_of(result);
  outcome.log_segment = written.root;
  return outcome;
}

// What the step should have been by the log: whatever that is, there is an answer.
Expected<verify::StepOutcome> RunReplay::judge_log(runtime::Observer* observer) {
  const auto t = static_cast<uint64_t>(session_.trainer->step()) + 1;
  const auto& leaf = log_bundle_.transcript().step(t);
  auto segment = log_bundle_.read_log_segment(t);
  if (!segment && segment.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(segment.error());
  const Bytes bytes = segment ? std::move(*segment) : Bytes();
  ISOBIT_TRY(runtime::Stage * stage, log_->begin(t, bytes, leaf.log_segment, runtime::StateBefore::kUnknown));
  const auto result = step_(*session_.trainer, {.observer = observer, .stage = stage, .memory = &tally_.memory});
  log_->note_fault();
  if (!result) return tl::unexpected<Error>(result.error());
  ISOBIT_RETURN_IF_ERROR(log_->end());
  first_illegal_ = log_->first_illegal();
  verify::StepOutcome outcome = outcome_of(*result);
  outcome.log_segment = log_->root_of_rest();
  return outcome;
}

// A damaged log is its signer's fault only where the file still is the one that was signed.
Expected<verify::StepOutcome> RunReplay::advance_with_log(runtime::Observer* observer) {
  ISOBIT_TRY(verify::StepOutcome outcome, follow_log(observer));
  if (!outcome.fault || outcome.fault->kind != log::FaultKind::kDamaged) return outcome;
  if (const Status same = bundle_.compare_log(); !same) {
    return tl::unexpected<Error>(since_it_was_whole(same.error()));
  }
  return outcome;
}

// A log that cannot be followed is the trainer's fault and part of the outcome; any other failure is this machine's.
Expected<verify::StepOutcome> RunReplay::follow_log(runtime::Observer* observer) {
  const auto t = static_cast<uint64_t>(session_.trainer->step()) + 1;
  verify::StepOutcome outcome;
  outcome.step = t;
  outcome.batch = bundle_.transcript().step(t).batch;  // a fault is reported before the batch is computed
  const auto segment = bundle_.read_log_segment(t);
  if (!segment) {
    if (segment.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(segment.error());
    outcome.fault = verify::StepFault{log::FaultKind::kDamaged, "", segment.error().message};
    return outcome;
  }
  // A committed state was compared before this step was asked for.
  const auto before = bundle_.transcript().committed_state(t - 1).has_value() ? runtime::StateBefore::kAgreed
                                                                              : runtime::StateBefore::kUnknown;
  const auto stage = log_->begin(t, *segment, bundle_.transcript().step(t).log_segment, before);
  if (!stage && !log_->fault()) return tl::unexpected<Error>(stage.error());
  if (stage) {
    const auto r = step_(*session_.trainer, {.observer = observer, .stage = *stage, .memory = &tally_.memory});
    log_->note_fault();
    if (!r && !log_->fault()) return tl::unexpected<Error>(r.error());
    if (r && log_->end()) {
      outcome = outcome_of(*r);
      outcome.log_segment = bundle_.transcript().step(t).log_segment;  // begin() compared it
      return outcome;
    }
  }
  outcome.fault = log_->fault();
  return outcome;
}

std::vector<uint64_t> BundleReplays::starts() const {
  std::vector<uint64_t> steps = {0};
  for (uint64_t step : reader_.checkpoints()) {
    if (step > 0) steps.push_back(step);
  }
  return steps;
}

Expected<std::unique_ptr<RunReplay>> BundleReplays::open_replay(uint64_t step) {
  ISOBIT_RETURN_IF_ERROR(go_to(step));
  return std::make_unique<RunReplay>(session_, reader_, engine_, tally_, seconds_, step_, log_);
}

Expected<std::unique_ptr<verify::Replayer>> BundleReplays::open(uint64_t step) {
  ISOBIT_TRY(std::unique_ptr<RunReplay> replay, open_replay(step));
  return std::unique_ptr<verify::Replayer>(std::move(replay));
}

Status BundleReplays::go_to(uint64_t step) {
  // A trainer on which something failed may stand at step 0 without the initial state.
  if (step == 0) {
    if (session_.trainer->revision() != 0) ISOBIT_RETURN_IF_ERROR(session_.begin_anew(engine_));
    return begin_ ? begin_(*session_.trainer) : Status();
  }
  const auto contents = read_checkpoint_into(reader_, step, *session_.trainer, engine_.pool());
  if (!contents) return tl::unexpected<Error>(since_it_was_whole(contents.error()));
  if (!contents->state_root) return rejected(contents->problem);
  session_.note_state_root(*contents->state_root);
  return {};
}

}  // namespace isobit::run
