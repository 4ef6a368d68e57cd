// What one has begun, offered and judged, by run id, in one's own folder of keys (docs/formats/home.md): a run id
// stands for one run, and only a memory that outlives the process can see to that. Each entry is a file that appears
// whole or not at all; two processes cannot both make one. None is ever changed but by note_moved, note_followed and
// note_kept.
// Where it cannot be seen whether there is an entry, all of these fail with kUnavailable: what is not seen may still be
// there.
#pragma once

#include <optional>

#include "isobit/base/file.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/signature.h"
#include "isobit/log/counts.h"
#include "isobit/platform/platform.h"
#include "isobit/train/job_paths.h"
#include "isobit/verify/head.h"

namespace isobit::run {

// A trainer's: the run that was begun under a run id.
struct BegunRun {
  fs::path folder;  // absolute, when it began
  train::JobPaths paths;
  bool operator==(const BegunRun&) const = default;
};
// None when no run has begun under this id. kUnreadable: the entry is damaged.
Expected<std::optional<BegunRun>> find_begun(const fs::path& home, const commit::RunId& run_id);
// Durable before it returns. kUsage, with the folder of the other run, when one has begun under this id; not when it is
// this very one.
Status note_begun(const fs::path& home, const commit::RunId& run_id, const BegunRun& run);

// The folder of a run that has begun, absolute, is another one from here on; the rest of its entry stays. Durable
// before it returns. kUsage when no run has begun under this id.
Status note_moved(const fs::path& home, const commit::RunId& run_id, const fs::path& folder);

// A client's: that it has offered the run id, for this job. kUsage when it has done so before.
Status note_offered(const fs::path& home, const commit::RunId& run_id, const commit::Digest& job_root);

// An auditor's entries are by all three names: a client can have its run id signed for by as many keys as it likes, and
// none of them may speak for another.
struct JudgedRun {
  commit::PublicKey client, trainer;
  commit::RunId run_id;
};
// The root of the transcript that was judged first of those that this trainer key signed as finished under the client's
// run id. None when none was.
Expected<std::optional<commit::Digest>> find_judged(const fs::path& home, const JudgedRun& run);
// The same, once this transcript has been judged, too: another root than its own means that one trainer finished two
// runs under one id.
Expected<commit::Digest> note_judged(const fs::path& home, const JudgedRun& run, const commit::Digest& transcript_root);

// The largest head that was seen of a run by this trainer key while it was followed. None when none was.
Expected<std::optional<verify::SignedHead>> find_followed(const fs::path& home, const JudgedRun& run);
// In the place of a smaller one; a larger one, or another one of this size, stays. Durable before it returns. REQUIRES
// a head by run.trainer of run.run_id, whose signature is valid.
Status note_followed(const fs::path& home, const JudgedRun& run, const verify::SignedHead& head);

// How far a run was replayed while it was followed, and what that came to.
struct KeptReplay {
  uint64_t step = 0;                 // all up to it agreed, and the state behind it
  commit::Digest history{};          // the root over the leaves up to that of the step
  double step_seconds = 0;           // in the steps alone
  platform::Repairs repairs;         // of arithmetic correct-1
  log::CountsByOperator log_counts;  // of arithmetic logged-1
};
// Those that were noted last, in order.
Expected<std::vector<KeptReplay>> find_kept(const fs::path& home, const JudgedRun& run);
// In the place of those before. Durable before it returns. REQUIRES one or two.
Status note_kept(const fs::path& home, const JudgedRun& run, const std::vector<KeptReplay>& replays);

}  // namespace isobit::run
