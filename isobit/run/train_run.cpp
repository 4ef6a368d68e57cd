#include "isobit/run/train_run.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/writer.h"
#include "isobit/run/checkpoint.h"
#include "isobit/run/engagement.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/keys.h"
#include "isobit/run/registers.h"
#include "isobit/run/train_loop_internal.h"
#include "isobit/train/job_paths.h"
#include "isobit/verify/auditor.h"

namespace isobit::run {
namespace {

// Puts the trainer at the newest checkpoint that is what was written, or, where no record of that is left, what the
// transcript commits to; at the beginning when there is none. Those that are not are removed.
Status go_to_checkpoint(bundle::BundleWriter& writer, Session& session, platform::Engine& engine) {
  const std::vector<uint64_t> steps = writer.checkpoints();
  for (uint64_t step : steps) {
    train::Trainer& trainer = *session.trainer;
    const auto root = read_own_checkpoint(writer, step, engine.pool(), into(trainer));
    if (!root && root.error().code == ErrorCode::kUnavailable) return tl::unexpected<Error>(root.error());
    const Status whole = trainer.go_on_from(static_cast<int64_t>(step));
    if (root && whole && !verify::compare_checkpoint(writer.transcript(), step, *root)) {
      session.note_state_root(*root);
      return writer.continue_from(step);
    }
    ISOBIT_RETURN_IF_ERROR(writer.drop_checkpoint(step));
  }
  return steps.empty() ? Status() : session.begin_anew(engine);
}

// A folder that cannot take the run is said before anything is computed.
Status check_out(const fs::path& out) {
  const bundle::RunState state = bundle::run_state(out);
  if (state == bundle::RunState::kFinished || state == bundle::RunState::kUnfinished) {
    return usage_error(text_of(out.string(), ": holds a run already; ",
                               state == bundle::RunState::kFinished
                                   ? "choose another --out"
                                   : "continue it with --resume, or choose another --out"));
  }
  if (state == bundle::RunState::kForeign) {
    return usage_error(text_of(out.string(), ": is not an empty folder; choose another --out"));
  }
  return bundle::check_outside_runs(out);
}

// However the folder is spelled.
fs::path place_of(const fs::path& run) {
  const fs::path place = fs::absolute(run).lexically_normal();
  return place.has_filename() ? place : place.parent_path();
}

// A new file of metrics, which does not come to lie in the run's folder.
Expected<std::optional<MetricsFile>> new_metrics(const TrainRequest& request) {
  if (request.metrics.empty()) return std::nullopt;
  ISOBIT_RETURN_IF_ERROR(bundle::check_outside_coming_run(request.metrics, request.out));
  ISOBIT_TRY(MetricsFile metrics, MetricsFile::begin(request.metrics));
  return metrics;
}

// The engagement that was accepted, or one that client and trainer in one person sign for this run.
Expected<verify::Engagement> engagement_of(const TrainRequest& request, const Session& session) {
  if (request.engagement) {
    const commit::Digest& engaged = request.engagement->terms.job_root;
    if (session.root == engaged) return *request.engagement;
    return rejected(text_of("engagement: field 'job_root': found ", commit::hex_of(engaged),
                            ", your job and data have ", commit::hex_of(session.root),
                            "; other data, or another version of isobit"));
  }
  verify::EngagementTerms terms;
  terms.job_root = session.root;
  terms.job_digest = job_digest(session.job);
  ISOBIT_TRY(terms.run_id, random_run_id());
  terms.trainer_keys = {request.trainer->public_key()};
  return verify::make_engagement(terms, *request.client, *request.trainer);
}

bool same_folder(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return place_of(a) == place_of(b) || fs::equivalent(a, b, ignored);
}

bool holds_run(const fs::path& folder, const commit::RunId& run_id) {
  const auto bytes = read_file(folder / bundle::kEngagementFile, verify::kMaxEngagementBytes);
  if (!bytes) return false;
  const auto engagement = verify::decode_engagement(*bytes, folder.string());
  return engagement && engagement->terms.run_id == run_id;
}

// One folder of a run goes on. Two copies need not come to the same leaves: a logged run on two platforms does not.
Status check_place(const TrainRequest& request, const bundle::BundleWriter& writer) {
  if (request.home.empty()) return {};
  const commit::RunId& run_id = writer.engagement().terms.run_id;
  ISOBIT_TRY(const auto begun, find_begun(request.home, run_id));
  if (!begun || same_folder(begun->folder, request.out)) return {};
  if (holds_run(begun->folder, run_id)) {
    return usage_error(
        text_of(request.out.string(), ": is a copy of the run that began in ", begun->folder.string(),
                " and is still there: resume that one. Where two copies go on, two histories of one run ",
                "are signed, which is evidence against you"));
  }
  if (!request.moved) {
    return usage_error(text_of(request.out.string(), ": your register has this run in ", begun->folder.string(),
                               ", where it is no longer. If it was moved here, and no copy of it goes on or has gone ",
                               "on elsewhere, say so with --moved: two histories of one run are evidence against you"));
  }
  return {};
}

// Before the first head is signed: from then on the run id stands for what is in this folder.
Status note_beginning(const TrainRequest& request, const train::Job& job, const bundle::BundleWriter& writer) {
  if (request.home.empty()) return {};
  const BegunRun begun{place_of(request.out), train::paths_of(job)};
  return note_begun(request.home, writer.engagement().terms.run_id, begun);
}

// After check_place.
Status note_place(const TrainRequest& request, const train::Job& job, const bundle::BundleWriter& writer) {
  if (request.home.empty()) return {};
  const commit::RunId& run_id = writer.engagement().terms.run_id;
  ISOBIT_TRY(const auto begun, find_begun(request.home, run_id));
  if (!begun) return note_beginning(request, job, writer);
  return same_folder(begun->folder, request.out) ? Status() : note_moved(request.home, run_id, place_of(request.out));
}

// The job of an own run: its paths, unless others are named, are those that were noted when it began.
Expected<train::Job> job_to_resume(const TrainRequest& request, const bundle::BundleWriter& writer) {
  const Bytes& toml = writer.job_toml();
  ISOBIT_TRY(train::Job job, train::parse_job({reinterpret_cast<const char*>(toml.data()), toml.size()},
                                              (request.out / "job.toml").string(), "", request.overrides));
  ISOBIT_RETURN_IF_ERROR(train::check_in_steps(job, (request.out / "job.toml").string()));
  if (request.home.empty()) return job;
  ISOBIT_TRY(const auto begun, find_begun(request.home, writer.engagement().terms.run_id));
  return begun ? train::with_paths(std::move(job), begun->paths) : job;
}

}  // namespace

Expected<train::StepResult> take_step(train::Trainer& trainer, runtime::RunOptions options) {
  return trainer.advance(options);
}

Expected<train::SampleScores> score(train::Trainer& trainer) { return trainer.evaluate(); }

Expected<TrainSummary> train_run(const TrainRequest& request) {
  platform::Engine engine(request.platform);
  return train_run(request, engine);
}

Expected<TrainSummary> train_run(const TrainRequest& request, platform::Engine& engine) {
  ISOBIT_RETURN_IF_ERROR(check_out(request.out));
  ISOBIT_RETURN_IF_ERROR(train::check_in_steps(request.job, request.job.name));
  if (request.engagement) {
    ISOBIT_RETURN_IF_ERROR(
        check_trainable(*request.engagement, request.job, request.trainer->public_key(), request.home));
  }
  ISOBIT_TRY(std::optional<MetricsFile> metrics, new_metrics(request));
  ISOBIT_TRY(Session session, open_session(request.job, engine, request.limits));
  ISOBIT_TRY(const verify::Engagement engagement, engagement_of(request, session));
  const std::string toml = train::job_to_toml(train::without_paths(session.job));
  ISOBIT_TRY(bundle::BundleWriter writer,
             bundle::BundleWriter::create(request.out, as_bytes(toml), engagement, transcript_rules(session.job),
                                          *request.trainer));
  if (Status begun = note_beginning(request, session.job, writer); !begun) {
    writer.discard();  // another process was faster: a run id stands for one run
    return tl::unexpected<Error>(std::move(begun).error());
  }
  return train_loop(request, std::move(session), engine, std::move(writer), std::move(metrics));
}

Expected<TrainSummary> resume_run(const TrainRequest& request) {
  ISOBIT_TRY(bundle::BundleWriter writer, bundle::BundleWriter::resume(request.out, *request.trainer));
  ISOBIT_RETURN_IF_ERROR(check_place(request, writer));
  ISOBIT_TRY(const train::Job job, job_to_resume(request, writer));
  platform::Engine engine(request.platform);
  ISOBIT_TRY(Session session, open_session(job, engine, request.limits));
  if (session.root != writer.engagement().terms.job_root) {
    return rejected(text_of(request.out.string(), ": the job root ", commit::hex_of(session.root),
                            " of its job.toml and data is not the engaged ",
                            commit::hex_of(writer.engagement().terms.job_root), "; are the data the same?"));
  }
  ISOBIT_RETURN_IF_ERROR(note_place(request, job, writer));
  ISOBIT_RETURN_IF_ERROR(go_to_checkpoint(writer, session, engine));
  std::optional<MetricsFile> metrics;
  if (!request.metrics.empty()) {
    ISOBIT_TRY(metrics, MetricsFile::go_on(request.metrics, session.trainer->step()));
  }
  return train_loop(request, std::move(session), engine, std::move(writer), std::move(metrics));
}

}  // namespace isobit::run
