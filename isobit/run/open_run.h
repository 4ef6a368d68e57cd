// Opens a run that somebody else may have written: its front, its job, and then, measured against the job, the rest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/bundle/reader.h"
#include "isobit/commit/signature.h"
#include "isobit/run/job_size.h"
#include "isobit/train/job.h"
#include "isobit/verify/verdict.h"

namespace isobit::run {

struct OpenRequest {
  fs::path run;
  // The client whose engagement counts. Without it signatures are checked against the keys that the run itself names.
  std::optional<commit::PublicKey> client;
  std::vector<std::string> overrides;  // of fields of the job, such as data.path
  // Whose data: paths that a run itself names are never opened. Either the reader's own copy of the job says where they
  // lie (the run must be of this job), or the overrides do, or, for a run whose trainer's key is one's own, the
  // register in `home` does.
  std::optional<train::Job> job = std::nullopt;
  fs::path home = {};
  // The terms that the client holds: the run must have been made under these.
  std::optional<verify::EngagementTerms> terms = std::nullopt;
  // The most memory that reading the run may take, whatever its job says.
  Limits limits = {};
  // A verdict that the caller believes: the run must be the one that it accepts, by another key than a trainer's.
  std::optional<verify::Verdict> verdict = std::nullopt;
  // kLeave for whoever reads each checkpoint of a finished run anyway (read_checkpoints).
  bundle::Checkpoints checkpoints = bundle::Checkpoints::kCompare;
};

struct OpenedRun {
  bundle::BundleReader reader;
  train::Job job;  // the run's own, with the overrides
};

// What a verdict names a run by. Of a finished run.
verify::EngagedNames engaged_names(const bundle::BundleReader& reader);
verify::FinishedNames finished_names(const bundle::BundleReader& reader);

// The front of a run alone, and its job, which is the engaged one: no file of a size that the job decides is read.
// Errors as open_run.
struct OpenedFront {
  bundle::BundleFront front;
  train::Job job;  // the run's own, with the overrides
};
Expected<OpenedFront> open_front(const OpenRequest& request);

// Errors as BundleFront::open and BundleReader::open. A job that is not the engaged one is kRejected. A job file that
// is signed for and cannot be read, or whose network does not fit together, is kRejected; of an unfinished run it is
// kUnreadable. kUnavailable, before any file of a size that the job decides is read: as run_limits. kUsage: an override
// that does not fit.
Expected<OpenedRun> open_run(const OpenRequest& request);

// What a run of this job may take on the disk. A job whose checkpoints may be larger than the limit of memory is
// kUnavailable: they are read a tensor at a time, but one that is only looked at may be a single tensor, and who wrote
// the job may be who wants it read. Of data whose shape only their files know ("npy"), and of networks from files, the
// limit is what bounds them; without one, this machine's memory. Else errors as job_size.
Expected<bundle::RunLimits> run_limits(const train::Job& job, const Limits& limits);

}  // namespace isobit::run
