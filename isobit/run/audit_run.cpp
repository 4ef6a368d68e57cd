#include "isobit/run/audit_run.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/reader.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/job_root.h"
#include "isobit/run/static_checks.h"

namespace isobit::run {

namespace {

// A trainer as the auditor sees one.
class TrainerReplay : public verify::Replayer {
 public:
  TrainerReplay(std::unique_ptr<train::Trainer> trainer, const DatasetCommitment& commitment, platform::Engine& engine)
      : trainer_(std::move(trainer)), commitment_(commitment), engine_(engine) {}

  Expected<commit::Digest> state_root() override { return state_digest(*trainer_, engine_.pool()); }

  Expected<verify::StepOutcome> advance() override {
    ISOBIT_TRY(const train::StepResult r, trainer_->advance());
    return verify::StepOutcome{static_cast<uint64_t>(r.step), batch_digest(commitment_, r.step, r.indices),
                               verify::LossBits::of(r.loss), std::nullopt};
  }

  Expected<verify::Evaluation> evaluate() override {
    ISOBIT_TRY(const train::Evaluation e, trainer_->evaluate());
    return verify::Evaluation{verify::LossBits::of(e.loss), static_cast<uint64_t>(e.rows),
                              static_cast<uint64_t>(e.top1), static_cast<uint64_t>(e.top5)};
  }

 private:
  std::unique_ptr<train::Trainer> trainer_;
  const DatasetCommitment& commitment_;
  platform::Engine& engine_;
};

// Replayers at the initial state and at every checkpoint of the bundle.
class BundleReplays : public verify::ReplayerSource {
 public:
  BundleReplays(const bundle::BundleReader& reader, const Session& session, platform::Engine& engine)
      : reader_(reader), session_(session), engine_(engine) {}

  std::vector<uint64_t> starts() const override {
    std::vector<uint64_t> steps = {0};
    for (uint64_t step : reader_.checkpoints()) {
      if (step > 0) steps.push_back(step);
    }
    return steps;
  }

  Expected<std::unique_ptr<verify::Replayer>> open(uint64_t step) override {
    ISOBIT_TRY(std::unique_ptr<train::Trainer> trainer, trainer_at(step));
    return std::unique_ptr<verify::Replayer>(new TrainerReplay(std::move(trainer), session_.commitment, engine_));
  }

  Expected<std::unique_ptr<train::Trainer>> trainer_at(uint64_t step) {
    ISOBIT_TRY(std::unique_ptr<train::Trainer> trainer,
               train::Trainer::create(session_.job, session_.dataset, engine_));
    if (step > 0) {
      ISOBIT_TRY(const Bytes bytes, reader_.read_checkpoint(step));
      ISOBIT_TRY(formats::Safetensors file, formats::decode_safetensors(bytes, text_of("checkpoint of step ", step)));
      ISOBIT_RETURN_IF_ERROR(trainer->restore(std::move(file.tensors), static_cast<int64_t>(step)));
    }
    return trainer;
  }

 private:
  const bundle::BundleReader& reader_;
  const Session& session_;
  platform::Engine& engine_;
};

// The replay decides where a wrong run goes wrong; what can be said without it is looked at when it finds nothing,
// since an earlier difference says more.
Expected<verify::AuditVerdict> judge(const AuditRequest& request, const bundle::BundleReader& reader,
                                     const Session& session, platform::Engine& engine, AuditSummary& summary) {
  BundleReplays replays(reader, session, engine);
  verify::AuditOptions options;
  options.rules = transcript_rules(session.job);
  options.job_root = session.root;
  options.progress = request.progress;
  verify::AuditVerdict verdict;
  if (request.sample) {
    summary.intervals = verify::intervals_of(options.rules).size();
    summary.sampled = verify::draw_intervals(reader.transcript(), *request.sample, request.sample_seed);
    summary.detection_probability = verify::detection_probability(summary.intervals, 1, summary.sampled.size());
    ISOBIT_TRY(verdict, verify::audit_sample(reader.transcript(), replays, summary.sampled, options));
  } else {
    options.from_step = request.from_step.value_or(0);
    const auto starts = replays.starts();
    if (std::find(starts.begin(), starts.end(), options.from_step) == starts.end()) {
      std::string have;
      for (uint64_t step : reader.checkpoints()) have += text_of(have.empty() ? "" : ", ", step);
      return usage_error(text_of("--from ", options.from_step, ": the run has no checkpoint of that step; it has ",
                                 have.empty() ? "none" : "those of steps " + have));
    }
    ISOBIT_TRY(const std::unique_ptr<verify::Replayer> replay, replays.open(options.from_step));
    ISOBIT_TRY(verdict, verify::audit(reader.transcript(), *replay, options));
  }
  if (!verdict.accepted) return verdict;
  if (auto found = static_finding(reader, engine.pool())) {
    found->steps_checked = verdict.steps_checked;
    return *std::move(found);
  }
  return verdict;
}

}  // namespace

Expected<AuditSummary> audit_run(const AuditRequest& request) {
  AuditSummary summary;
  summary.platform = request.platform.text();
  const auto opened = bundle::BundleReader::open(request.run, {request.client});
  if (!opened) {
    if (opened.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(opened.error());
    summary.verdict = verify::rejected_verdict(verify::Part::kStructure, opened.error().message);
    return summary;
  }
  const bundle::BundleReader& reader = *opened;
  ISOBIT_RETURN_IF_ERROR(reader.require_finished());

  const std::string_view toml(reinterpret_cast<const char*>(reader.job_toml().data()), reader.job_toml().size());
  ISOBIT_TRY(const train::Job job, train::parse_job(toml, (request.run / "job.toml").string(), "", request.overrides));
  platform::Engine engine(request.platform);
  ISOBIT_TRY(const Session session, open_session(job, engine));
  if (session.root != reader.engagement().terms.job_root) {
    summary.verdict = verify::rejected_verdict(
        verify::Part::kJob,
        text_of("the job of the run, with the auditor's data, has root ", commit::hex_of(session.root),
                ", the engagement says ", commit::hex_of(reader.engagement().terms.job_root),
                ": other data, another job, or another version of the arithmetic"));
    return summary;
  }
  ISOBIT_TRY(summary.verdict, judge(request, reader, session, engine, summary));
  return summary;
}

}  // namespace isobit::run
