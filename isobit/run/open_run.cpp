#include "isobit/run/open_run.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/data/data_shape.h"
#include "isobit/platform/memory.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/job_root.h"
#include "isobit/run/job_size.h"
#include "isobit/run/network.h"
#include "isobit/run/registers.h"
#include "isobit/train/job_paths.h"

namespace isobit::run {
namespace {

// Without the paths that it may name: a job that a stranger wrote must not choose which files are opened here.
Expected<train::Job> parse(const bundle::BundleFront& front) {
  const Bytes& bytes = front.job_toml();
  const std::string_view toml(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string source = (front.folder() / bundle::kJobFile).string();
  ISOBIT_TRY(train::Job job, train::parse_job(toml, source, ""));
  ISOBIT_RETURN_IF_ERROR(train::check_in_steps(job, source));
  return train::without_paths(std::move(job));
}

// The paths of an own run, noted when it began; none of a stranger's.
Expected<std::optional<train::JobPaths>> own_paths(const bundle::BundleFront& front, const fs::path& home) {
  const fs::path trainer = home / "trainer.pub";
  std::error_code ignored;
  if (home.empty() || !fs::exists(trainer, ignored)) return std::nullopt;
  ISOBIT_TRY(const commit::PublicKey own, commit::read_public_key(trainer));
  if (front.engagement().trainer_key != own) return std::nullopt;
  ISOBIT_TRY(const auto begun, find_begun(home, front.engagement().terms.run_id));
  if (!begun) return std::nullopt;
  return begun->paths;
}

// The run's job with the reader's data.
Expected<train::Job> with_data(const bundle::BundleFront& front, train::Job job, const OpenRequest& request) {
  if (request.job) return *request.job;
  if (!request.overrides.empty()) {
    const std::string source = (front.folder() / bundle::kJobFile).string();
    const commit::Digest engaged = job_digest(job);
    auto changed = train::parse_job(train::job_to_toml(job), source, "", request.overrides);
    // The run's own job was read before: what is wrong is what was set.
    if (!changed) return usage_error(text_of("--set, applied to the run's job: ", changed.error().message));
    job = std::move(*changed);
    // A verdict is about the run's own job: what the reader changed is no fault of the trainer's.
    if (job_digest(job) != engaged) {
      return usage_error(
          "--set changes the job of a run that is there; with a run it only says where your copies lie (data.path, "
          "data.salt, model.onnx, model.weights), and --job names the job that you want");
    }
  }
  ISOBIT_TRY(const auto paths, own_paths(front, request.home));
  return paths ? train::with_paths(std::move(job), *paths) : job;
}

// That the front is of the job that the reader wants, where it says which.
Status check_wanted(const bundle::BundleFront& front, const OpenRequest& request) {
  const verify::EngagementTerms& terms = front.engagement().terms;
  const std::string what = (front.folder() / bundle::kEngagementFile).string();
  if (request.job && job_digest(*request.job) != terms.job_digest) {
    return rejected(text_of(what, ": field 'job_digest': found ", commit::hex_of(terms.job_digest), ", your job has ",
                            commit::hex_of(job_digest(*request.job)), "; the run is of another job"));
  }
  return {};
}

// What is wrong with the job as it stands is the fault of who signed for it.
template <class T>
Expected<T> or_rejected(Expected<T> value, const bundle::BundleFront& front) {
  if (value || !front.finished() || value.error().code != ErrorCode::kUnreadable) return value;
  return rejected(std::move(value).error().message);
}

Status check_verdict(const bundle::BundleReader& reader, const OpenRequest& request) {
  if (!request.verdict) return {};
  ISOBIT_RETURN_IF_ERROR(reader.require_finished());
  const verify::Verdict& verdict = *request.verdict;
  const verify::EngagementTerms& terms = reader.engagement().terms;
  // The names bind the job's data and arithmetic; what the job is called and who ordered it, the engagement does.
  if (verdict.client_key != terms.client_key) {
    return rejected(text_of("verdict: field 'client_key': found ", commit::hex_of(verdict.client_key),
                            ", the run's engagement has ", commit::hex_of(terms.client_key)));
  }
  if (verdict.signature && reader.engagement().engages(verdict.signature->auditor_key)) {
    return rejected(text_of("verdict: field 'auditor_key': is a key of the run's trainer, ",
                            commit::hex_of(verdict.signature->auditor_key), "; nobody audits their own run"));
  }
  return verify::check_accepts(*request.verdict, engaged_names(reader), finished_names(reader));
}

}  // namespace

verify::EngagedNames engaged_names(const bundle::BundleReader& reader) {
  return {reader.engagement().terms.job_root, reader.engagement().terms.run_id};
}

verify::FinishedNames finished_names(const bundle::BundleReader& reader) {
  return {reader.transcript().transcript_root(), reader.transcript().final().state_root, reader.heads().back().tree};
}

Expected<bundle::RunLimits> run_limits(const train::Job& job, const Limits& allowed) {
  bundle::RunLimits limits;
  limits.rules = transcript_rules(job);
  const auto shape = data::declared_shape(job.data);
  if (shape && declares_network(job)) {
    train::Job without_values = job;  // whatever file they come from, the builder alone says how large they are
    without_values.model.weights.clear();
    ISOBIT_TRY(const JobSize size, job_size(without_values, *shape));
    ISOBIT_RETURN_IF_ERROR(check_memory(size.largest_checkpoint, allowed, "read a checkpoint of"));
    limits.checkpoint_bytes = size.largest_checkpoint;
    limits.log_segment_bytes = size.largest_log_segment;
    return limits;
  }
  const uint64_t memory = platform::available_memory();
  const uint64_t most = memory == 0 ? bundle::kMaxCheckpointBytes : memory / 4 * 3;
  limits.checkpoint_bytes = std::min(most, allowed.max_memory);
  if (limits.rules.logged) limits.log_segment_bytes = bundle::kMaxLogSegmentBytes;
  return limits;
}

Expected<OpenedFront> open_front(const OpenRequest& request) {
  ISOBIT_TRY(bundle::BundleFront front, bundle::BundleFront::open(request.run, {request.client, request.terms}));
  ISOBIT_RETURN_IF_ERROR(check_wanted(front, request));
  ISOBIT_TRY(train::Job job, or_rejected(parse(front), front));
  const commit::Digest& engaged = front.engagement().terms.job_digest;
  if (job_digest(job) != engaged) {
    return rejected(text_of((request.run / bundle::kJobFile).string(), ": has the job digest ",
                            commit::hex_of(job_digest(job)), ", the engagement says ", commit::hex_of(engaged),
                            ": another job"));
  }
  ISOBIT_TRY(job, with_data(front, std::move(job), request));
  return OpenedFront{std::move(front), std::move(job)};
}

Expected<OpenedRun> open_run(const OpenRequest& request) {
  ISOBIT_TRY(OpenedFront opened, open_front(request));
  ISOBIT_TRY(const bundle::RunLimits limits, or_rejected(run_limits(opened.job, request.limits), opened.front));
  ISOBIT_TRY(bundle::BundleReader reader,
             bundle::BundleReader::open(std::move(opened.front), limits, request.checkpoints));
  ISOBIT_RETURN_IF_ERROR(check_verdict(reader, request));
  return OpenedRun{std::move(reader), std::move(opened.job)};
}

}  // namespace isobit::run
