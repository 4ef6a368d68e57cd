// Steps of a run, one after another, and what of each goes into its bundle.
#pragma once

#include <optional>

#include "isobit/bundle/writer.h"
#include "isobit/run/checkpoint.h"
#include "isobit/run/job_root.h"
#include "isobit/run/metrics_file.h"
#include "isobit/run/train_run.h"

namespace isobit::run {

// The root of the state that a checkpoint holds, which goes to the taker. kUnavailable where it cannot be read: it may
// be a good one. kRejected or kUnreadable unless it is what was noted when it was written, or, without such a note,
// what the transcript commits to.
Expected<commit::Digest> read_own_checkpoint(const bundle::BundleWriter& writer, uint64_t step, ThreadPool& pool,
                                             const formats::TensorTaker& taker);

// From where the session's trainer stands, which is where the writer does, to the last step of the job or until
// request.stop is set. Errors: those of request.conduct and of the files that are written.
Expected<TrainSummary> train_loop(const TrainRequest& request, Session session, platform::Engine& engine,
                                  bundle::BundleWriter writer, std::optional<MetricsFile> metrics);

}  // namespace isobit::run
