#include <cmath>

#include "isobit/base/text.h"
#include "isobit/run/train_loop_internal.h"
#include "isobit/verify/auditor.h"

namespace isobit::run {
namespace {

// Drives a trainer and writes what it does into the bundle.
class Loop {
 public:
  Loop(const TrainRequest& request, Session session, platform::Engine& engine, bundle::BundleWriter writer,
       std::optional<MetricsFile> metrics)
      : request_(request),
        session_(std::move(session)),
        engine_(engine),
        writer_(std::move(writer)),
        metrics_(std::move(metrics)) {
    if (!arithmetic_of(session_.job).logs) return;
    log_ = request.conduct.log_writer(session_.job, session_.trainer->step_graph());
    own_log_.emplace(session_.job, session_.trainer->step_graph());
  }

  Expected<TrainSummary> run() {
    train::Trainer& trainer = *session_.trainer;
    if (writer_.position() == 0) {
      ISOBIT_RETURN_IF_ERROR(request_.conduct.begin(trainer));
      ISOBIT_TRY(const commit::Digest state, session_.state_root(engine_.pool()));
      ISOBIT_RETURN_IF_ERROR(writer_.append(verify::InitialLeaf{session_.root, state}));
      ISOBIT_RETURN_IF_ERROR(writer_.sign_head());
    }
    const int64_t first = first_step_ = trainer.step();
    const double begin = now();
    other_ = trainer.context().repairs();
    if (first == session_.job.steps) last_ = taken_before();
    while (trainer.step() < session_.job.steps) {
      if (request_.stop != nullptr && request_.stop->load()) return stopped();
      ISOBIT_RETURN_IF_ERROR(step());
      ISOBIT_RETURN_IF_ERROR(report());
      ISOBIT_RETURN_IF_ERROR(checkpoint_where_due());
    }
    return finish(first, begin);
  }

 private:
  // The last step, of a run that was stopped before it was scored.
  train::StepResult taken_before() const {
    const int64_t steps = session_.job.steps;
    const verify::StepLeaf leaf = writer_.transcript().step(static_cast<uint64_t>(steps));
    return {steps, {}, static_cast<float>(leaf.loss.value()), train::learning_rate(session_.job, steps - 1)};
  }

  double now() const { return request_.seconds ? request_.seconds() : 0.0; }

  Status step() {
    train::Trainer& trainer = *session_.trainer;
    WrittenSegment written;
    const double begin = now();
    ISOBIT_RETURN_IF_ERROR(compute(written));
    last_seconds_ = now() - begin;
    step_seconds_ += last_seconds_;
    const int64_t t = trainer.step();
    verify::StepLeaf leaf{static_cast<uint64_t>(t), batch_digest(*session_.commitment, t, last_.indices),
                          verify::LossBits::of(last_.loss), std::nullopt, std::nullopt};
    if (t % session_.job.commit_every == 0) {
      ISOBIT_TRY(leaf.state_root, session_.state_root(engine_.pool()));
    }
    if (log_) {
      leaf.log_segment = written.root;
      ISOBIT_RETURN_IF_ERROR(writer_.append(leaf, written.bytes));
    } else {
      ISOBIT_RETURN_IF_ERROR(writer_.append(leaf));
    }
    if (verify::head_is_due(writer_.transcript().rules(), writer_.engagement().terms.head_every, leaf.step)) {
      ISOBIT_RETURN_IF_ERROR(writer_.sign_head());
    }
    return {};
  }

  // What is shown and written of a step; of the last one, its line of metrics waits for the final evaluation.
  Status report() {
    const int64_t t = session_.trainer->step(), steps = session_.job.steps, every = session_.job.evaluate_every;
    std::optional<Scores> scores;
    if (every > 0 && t % every == 0 && t < steps) {
      ISOBIT_TRY(scores, score_between());
    }
    if (t < steps) ISOBIT_RETURN_IF_ERROR(write_metrics(scores));
    if (request_.progress) request_.progress({t, steps, first_step_, last_.loss, last_.lr, std::move(scores)});
    return {};
  }

  // Changes nothing that training reads; what it takes of inner products is not counted as the steps'.
  Expected<std::optional<Scores>> score_between() {
    const platform::Context& context = session_.trainer->context();
    const platform::Repairs before = context.repairs();
    ISOBIT_TRY(const train::SampleScores scored, request_.conduct.evaluate(*session_.trainer));
    other_.elements += context.repairs().elements - before.elements;
    other_.repaired += context.repairs().repaired - before.repaired;
    if (scored.samples() == 0) return std::nullopt;
    return Scores{scored.samples(), scored.totals()};
  }

  Status write_metrics(const std::optional<Scores>& scores) {
    if (!metrics_) return {};
    const train::Job& job = session_.job;
    const double taken = static_cast<double>(last_.step) * static_cast<double>(job.batch);
    const double rate = last_seconds_ > 0 ? static_cast<double>(job.batch) / last_seconds_ : 0;
    return metrics_->append({.step = last_.step,
                             .epoch = taken / static_cast<double>(session_.dataset->train_count()),
                             .loss = last_.loss,
                             .lr = last_.lr,
                             .seconds = last_seconds_,
                             .samples_per_second = rate,
                             .scores = scores});
  }

  // One step, and its log. A step of our own that is stored already is decided as it was the first time.
  Status compute(WrittenSegment& written) {
    train::Trainer& trainer = *session_.trainer;
    const StepFunction& step = request_.conduct.step;
    const auto t = static_cast<uint64_t>(trainer.step()) + 1;
    if (!log_) {
      ISOBIT_TRY(last_, step(trainer, {.memory = &memory_}));
      return {};
    }
    if (t <= writer_.transcript().steps()) {
      ISOBIT_TRY(written.bytes, writer_.read_log_segment(t));
      written.root = *writer_.transcript().step(t).log_segment;
      ISOBIT_TRY(runtime::Stage * stage,
                 own_log_->begin(t, written.bytes, written.root, runtime::StateBefore::kUnknown));
      ISOBIT_TRY(last_, step(trainer, {.stage = stage, .memory = &memory_}));
      return own_log_->end();
    }
    ISOBIT_TRY(last_, step(trainer, {.stage = &log_->begin(t), .memory = &memory_}));
    ISOBIT_TRY(written, log_->end());
    log_bytes_ += written.bytes.size();
    ++logged_steps_;
    return {};
  }

  // After the step's line: a run goes on behind its checkpoint, so what comes later than that is written by nobody.
  Status checkpoint_where_due() {
    const int64_t t = session_.trainer->step(), every = session_.job.checkpoint_every;
    return every > 0 && t % every == 0 && t < session_.job.steps ? checkpoint() : Status();
  }

  Status checkpoint() {
    if (metrics_) ISOBIT_RETURN_IF_ERROR(metrics_->sync());
    ISOBIT_TRY(const commit::Digest root, session_.state_root(engine_.pool()));
    return write_checkpoint(writer_, *session_.trainer, root);
  }

  // A checkpoint where we stand, so that nothing is computed twice.
  Expected<TrainSummary> stopped() {
    if (session_.trainer->step() > 0) ISOBIT_RETURN_IF_ERROR(checkpoint());
    return summary();
  }

  Expected<TrainSummary> finish(int64_t first, double begin) {
    train::Trainer& trainer = *session_.trainer;
    TrainSummary s = summary();
    // Before the scores, which may not come about: who resumes then has them taken again, and nothing trained.
    ISOBIT_RETURN_IF_ERROR(checkpoint());
    const auto scored = request_.conduct.evaluate(trainer);
    if (!scored) {
      return tl::unexpected<Error>(
          {scored.error().code, text_of(scored.error().message, "; what was trained is kept in ", request_.out.string(),
                                        ": --resume scores it again")});
    }
    s.evaluation = verify::EvaluationTree(*scored).evaluation();
    ISOBIT_TRY(s.final_state_root, session_.state_root(engine_.pool()));
    // Unless the run was stopped behind it.
    if (metrics_ && metrics_->last_step() < trainer.step()) {
      std::optional<Scores> scores;
      if (s.evaluation.samples > 0) scores = Scores{s.evaluation.samples, s.evaluation.metrics};
      ISOBIT_RETURN_IF_ERROR(write_metrics(scores));
    }
    ISOBIT_RETURN_IF_ERROR(
        writer_.append(verify::FinalLeaf{static_cast<uint64_t>(trainer.step()), s.final_state_root, s.evaluation}));
    ISOBIT_RETURN_IF_ERROR(check_checkpoints());
    ISOBIT_RETURN_IF_ERROR(check_log());
    std::map<std::string, std::string> facts = {{"platform", s.platform}};
    if (request_.seconds) {
      facts["seconds"] = text_of(std::floor((now() - begin) * 1000 + 0.5) / 1000);
      facts["first_step"] = text_of(first + 1);
    }
    ISOBIT_RETURN_IF_ERROR(writer_.finish(facts));
    s.finished = true;
    s.transcript_root = writer_.transcript().transcript_root();
    return s;
  }

  // An older checkpoint that is no longer what the transcript commits to is not handed out.
  Status check_checkpoints() {
    const std::vector<uint64_t> steps = writer_.checkpoints();
    for (uint64_t step : steps) {
      const auto claimed = writer_.transcript().committed_state(step);
      if (!claimed || step == writer_.transcript().steps()) continue;  // goes anyway; has just been written
      const auto stored = read_own_checkpoint(writer_, step, engine_.pool(), only_look());
      if (!stored && stored.error().code == ErrorCode::kUnavailable) return tl::unexpected<Error>(stored.error());
      if (!stored || *stored != *claimed) ISOBIT_RETURN_IF_ERROR(writer_.drop_checkpoint(step));
    }
    return {};
  }

  // That every segment still has the entries that its leaf commits to.
  Status check_log() {
    if (!log_) return {};
    for (uint64_t t = 1; t <= writer_.transcript().steps(); ++t) {
      const auto segment = writer_.read_log_segment(t);
      const auto root = segment ? log_->root_of(t, *segment) : tl::unexpected<Error>(segment.error());
      if (root && *root == writer_.transcript().step(t).log_segment) continue;
      return unavailable(text_of(request_.out.string(), ": the log of step ", t, " is not what was written; check the ",
                                 "disk and resume the run, which computes again what is lost"));
    }
    return {};
  }

  TrainSummary summary() const {
    TrainSummary s;
    s.step = session_.trainer->step();
    s.steps = session_.job.steps;
    s.job_root = session_.root;
    s.final_loss = last_.loss;
    s.platform = engine_.platform().text();
    s.repairs = session_.trainer->context().repairs();
    s.repairs.elements -= other_.elements;
    s.repairs.repaired -= other_.repaired;
    s.first_step = first_step_;
    s.step_seconds = step_seconds_;
    s.step_bytes = memory_.peak_bytes;
    s.logged_steps = logged_steps_;
    if (leaves_log_unchecked(session_.job)) s.notes.emplace_back(kUncheckedLog);
    if (log_) {
      s.log_counts = log_->counts();
      s.log_bytes = log_bytes_;
    }
    return s;
  }

  const TrainRequest& request_;
  Session session_;
  platform::Engine& engine_;
  bundle::BundleWriter writer_;
  std::optional<MetricsFile> metrics_;
  train::StepResult last_;
  double last_seconds_ = 0;
  platform::Repairs other_;               // before the steps, and of evaluations between them
  std::unique_ptr<StepLogWriter> log_;    // of a logged job
  std::optional<StepLogReader> own_log_;  // for steps that are stored already
  uint64_t log_bytes_ = 0;                // of the steps that were new
  uint64_t logged_steps_ = 0;
  int64_t first_step_ = 0;
  double step_seconds_ = 0;
  runtime::MemoryUse memory_;  // of a step
};

}  // namespace

Expected<commit::Digest> read_own_checkpoint(const bundle::BundleWriter& writer, uint64_t step, ThreadPool& pool,
                                             const formats::TensorTaker& taker) {
  ISOBIT_TRY(bundle::StoredCheckpoint stored, writer.open_checkpoint(step));
  const auto expected = stored.state_root ? stored.state_root : writer.transcript().committed_state(step);
  const std::string what = text_of("checkpoint of step ", step);
  ISOBIT_TRY(const CheckpointContents found, read_checkpoint(std::move(stored.file), step, what, pool, taker));
  if (!found.state_root) return unreadable(found.problem);
  if (found.state_root != expected) return rejected(text_of(what, ": nothing shows that this is what was written"));
  return *found.state_root;
}

Expected<TrainSummary> train_loop(const TrainRequest& request, Session session, platform::Engine& engine,
                                  bundle::BundleWriter writer, std::optional<MetricsFile> metrics) {
  return Loop(request, std::move(session), engine, std::move(writer), std::move(metrics)).run();
}

}  // namespace isobit::run
