// A follower's replay that goes on another day. The state behind a step is a file, wherever its owner wants it; what
// makes the file worth believing is noted in the owner's home (registers.h): that this very history was replayed up to
// that step and agreed. The state must have the root that the trainer signed there, so a file that was exchanged, or is
// of another run, is never gone on from.
#pragma once

#include <optional>

#include "isobit/run/job_root.h"
#include "isobit/run/registers.h"
#include "isobit/verify/transcript.h"

namespace isobit::run {

class KeptReplays {
 public:
  KeptReplays(fs::path file, fs::path home, const JudgedRun& run)
      : file_(std::move(file)), home_(std::move(home)), run_(run) {}

  // The last step that was noted; none where nothing was.
  Expected<std::optional<uint64_t>> newest() const;
  // Makes the state in the file that of the session's trainer, which then stands after the step. None where there is no
  // such file. kUsage for a file that holds no state that was noted for this history: it is left alone.
  Expected<std::optional<KeptReplay>> take_up(const verify::Transcript& history, Session& session,
                                              platform::Engine& engine);
  // Durable before it returns. The entry comes first and has that of the file as it is, too, so that whenever this is
  // cut short the file has one of both. REQUIRES a trainer that stands after the step, whose state agreed with the
  // committed one, and that take_up() said what is in the file.
  Status keep(const KeptReplay& replay, const train::Trainer& trainer);

 private:
  Expected<bool> holds(const KeptReplay& replay, const verify::Transcript& history, Session& session,
                       platform::Engine& engine) const;

  const fs::path file_, home_;
  const JudgedRun run_;
  std::optional<KeptReplay> in_file_;
};

}  // namespace isobit::run
