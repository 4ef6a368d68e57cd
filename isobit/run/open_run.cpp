#include "isobit/run/open_run.h"

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/data/data_shape.h"
#include "isobit/platform/memory.h"
#include "isobit/run/job_root.h"
#include "isobit/run/job_size.h"
#include "isobit/train/job_digest.h"

namespace isobit::run {
namespace {

Expected<train::Job> parse(const bundle::BundleFront& front, const std::vector<std::string>& overrides) {
  const Bytes& bytes = front.job_toml();
  const std::string_view toml(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return train::parse_job(toml, (front.folder() / bundle::kJobFile).string(), "", overrides);
}

// What is wrong with the job as it stands is the fault of who signed for it.
template <class T>
Expected<T> or_rejected(Expected<T> value, const bundle::BundleFront& front) {
  if (value || !front.finished() || value.error().code != ErrorCode::kUnreadable) return value;
  return rejected(std::move(value).error().message);
}

}  // namespace

Expected<bundle::RunLimits> run_limits(const train::Job& job) {
  bundle::RunLimits limits;
  limits.rules = transcript_rules(job);
  const auto shape = data::declared_shape(job.data);
  if (shape) {
    ISOBIT_TRY(const JobSize size, job_size(job, *shape));
    limits.checkpoint_bytes = size.largest_checkpoint;
    limits.log_segment_bytes = size.largest_log_segment;
    return limits;
  }
  const uint64_t memory = platform::available_memory();
  limits.checkpoint_bytes = memory == 0 ? bundle::kMaxCheckpointBytes : memory / 4 * 3;
  if (limits.rules.logged) limits.log_segment_bytes = bundle::kMaxLogSegmentBytes;
  return limits;
}

Expected<OpenedRun> open_run(const OpenRequest& request) {
  ISOBIT_TRY(bundle::BundleFront front, bundle::BundleFront::open(request.run, {request.client}));
  ISOBIT_TRY(train::Job job, or_rejected(parse(front, {}), front));
  const commit::Digest& engaged = front.engagement().terms.job_digest;
  if (train::job_digest(job) != engaged) {
    return rejected(text_of((request.run / bundle::kJobFile).string(), ": has the job digest ",
                            commit::hex_of(train::job_digest(job)), ", the engagement says ", commit::hex_of(engaged),
                            ": another job"));
  }
  ISOBIT_TRY(const bundle::RunLimits limits, or_rejected(run_limits(job), front));
  if (!request.overrides.empty()) {
    ISOBIT_TRY(job, parse(front, request.overrides));
  }
  ISOBIT_TRY(bundle::BundleReader reader, bundle::BundleReader::open(std::move(front), limits));
  return OpenedRun{std::move(reader), std::move(job)};
}

}  // namespace isobit::run
