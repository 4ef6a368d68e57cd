#include "isobit/run/kept_replay.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/checkpoint.h"

namespace isobit::run {

Expected<std::optional<uint64_t>> KeptReplays::newest() const {
  ISOBIT_TRY(const auto noted, find_kept(home_, run_));
  return noted.empty() ? std::nullopt : std::optional(noted.back().step);
}

Expected<bool> KeptReplays::holds(const KeptReplay& replay, const verify::Transcript& history, Session& session,
                                  platform::Engine& engine) const {
  const uint64_t leaves = replay.step + 1;
  if (leaves > history.size() || history.sized_root(leaves).root != replay.history) return false;
  const auto committed = history.committed_state(replay.step);
  if (!committed) return false;
  ISOBIT_TRY(auto file, bundle::CheckpointFile::open(file_, bundle::kMaxCheckpointBytes,
                                                     [](const bundle::FileEntry&) { return Status(); }));
  ISOBIT_TRY(const CheckpointContents found,
             read_checkpoint(std::move(file), replay.step, file_.string(), engine.pool(), into(*session.trainer)));
  const Status whole = session.trainer->go_on_from(static_cast<int64_t>(replay.step));
  if (found.state_root == committed && whole.has_value()) {
    session.note_state_root(*committed);
    return true;
  }
  ISOBIT_RETURN_IF_ERROR(session.begin_anew(engine));
  return false;
}

Expected<std::optional<KeptReplay>> KeptReplays::take_up(const verify::Transcript& history, Session& session,
                                                         platform::Engine& engine) {
  std::error_code error;
  const auto kind = fs::symlink_status(file_, error).type();
  if (kind == fs::file_type::not_found) return std::nullopt;
  ISOBIT_TRY(auto noted, find_kept(home_, run_));
  std::ranges::reverse(noted);
  for (const KeptReplay& replay : noted) {
    ISOBIT_TRY(const bool is_this, holds(replay, history, session, engine));
    if (is_this) return in_file_ = replay;
  }
  return usage_error(text_of(file_.string(), ": is there, and is not what was kept of this run's replay, by what ",
                             home_.string(), " has noted; name another file, or remove it to begin at the first step"));
}

Status KeptReplays::keep(const KeptReplay& replay, const train::Trainer& trainer) {
  std::vector<KeptReplay> noted = {replay};
  if (in_file_) noted.insert(noted.begin(), *in_file_);
  ISOBIT_RETURN_IF_ERROR(note_kept(home_, run_, noted));
  ISOBIT_RETURN_IF_ERROR(
      formats::write_safetensors(file_, {trainer.state(), {{"step", text_of(replay.step)}}}, {.mode = 0600}));
  in_file_ = replay;
  return {};
}

}  // namespace isobit::run
