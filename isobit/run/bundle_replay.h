// The steps of a run that is on the disk, computed again: from its initial state or one of its checkpoints, under its
// log where it has one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "isobit/bundle/reader.h"
#include "isobit/run/conduct.h"
#include "isobit/run/job_root.h"
#include "isobit/run/step_logs.h"
#include "isobit/verify/auditor.h"

namespace isobit::run {

// What the replays of one run come to.
struct ReplayTally {
  log::CountsByOperator log_counts;  // of arithmetic logged-1
  double step_seconds = 0;           // in the steps alone
  runtime::MemoryUse memory = {};    // of a step
};

// By what a replay of a logged run rounds near-ties.
struct LogUse {
  // The run whose log is followed; null: the replayed one.
  const bundle::BundleReader* of = nullptr;
  runtime::OnIllegal on_illegal = runtime::OnIllegal::kEndStep;
  // Of somebody who writes the log anew, as dishonestly as before: then none is followed.
  LogWriterFactory writes = nullptr;
};

// The session's trainer as whoever replays sees it.
class RunReplay : public verify::Replayer {
 public:
  // Nothing is owned; `seconds` is a clock, or empty. step: what computes the steps.
  RunReplay(Session& session, const bundle::BundleReader& bundle, platform::Engine& engine, ReplayTally& tally,
            std::function<double()> seconds, StepFunction step = take_step, const LogUse& log = {});
  ~RunReplay() override;

  Expected<commit::Digest> state_root() override { return session_.state_root(engine_.pool()); }
  Expected<verify::StepOutcome> advance() override { return advance_seen_by(nullptr); }
  // The same; the observer, which may be null, sees the step's operators.
  Expected<verify::StepOutcome> advance_seen_by(runtime::Observer* observer);
  Expected<verify::Evaluation> evaluate() override;
  // Of the step that was taken last: the first entry of its log that may not stand (OnIllegal::kTakeExact).
  std::optional<runtime::EntryPlace> first_illegal() const { return first_illegal_; }
  // Of the log, so far; in the tally when it ends.
  log::CountsByOperator log_counts() const { return log_ ? log_->counts() : log::CountsByOperator(); }

 private:
  double now() const { return seconds_ ? seconds_() : 0.0; }
  verify::StepOutcome outcome_of(const train::StepResult& result) const;
  Expected<verify::StepOutcome> advance_without_log(runtime::Observer* observer);
  Expected<verify::StepOutcome> advance_with_log(runtime::Observer* observer);
  Expected<verify::StepOutcome> follow_log(runtime::Observer* observer);
  Expected<verify::StepOutcome> judge_log(runtime::Observer* observer);
  Expected<verify::StepOutcome> write_log(runtime::Observer* observer);

  Session& session_;
  const bundle::BundleReader& bundle_;
  platform::Engine& engine_;
  ReplayTally& tally_;
  const std::function<double()> seconds_;
  const StepFunction step_;
  const bundle::BundleReader& log_bundle_;
  const runtime::OnIllegal on_illegal_;
  std::optional<StepLogReader> log_;
  std::unique_ptr<StepLogWriter> writer_;
  std::optional<runtime::EntryPlace> first_illegal_;
};

// Replays at the initial state and at every checkpoint of the run, one at a time: all are the session's trainer.
class BundleReplays : public verify::ReplayerSource {
 public:
  // Nothing is owned. `seconds`: as above.
  BundleReplays(const bundle::BundleReader& reader, Session& session, platform::Engine& engine, ReplayTally& tally,
                std::function<double()> seconds = nullptr, StepFunction step = take_step, LogUse log = {},
                BeginFunction begin = nullptr)
      : reader_(reader),
        session_(session),
        engine_(engine),
        tally_(tally),
        seconds_(std::move(seconds)),
        step_(std::move(step)),
        log_(std::move(log)),
        begin_(std::move(begin)) {}

  std::vector<uint64_t> starts() const override;
  Expected<std::unique_ptr<verify::Replayer>> open(uint64_t step) override;
  // The same as what it is.
  Expected<std::unique_ptr<RunReplay>> open_replay(uint64_t step);

 private:
  Status go_to(uint64_t step);

  const bundle::BundleReader& reader_;
  Session& session_;
  platform::Engine& engine_;
  ReplayTally& tally_;
  const std::function<double()> seconds_;
  const StepFunction step_;
  const LogUse log_;
  const BeginFunction begin_;  // of somebody whose first state is not the job's
};

}  // namespace isobit::run
