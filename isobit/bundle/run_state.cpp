#include <algorithm>
#include <array>

#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/writer.h"

namespace isobit::bundle {

RunState run_state(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return RunState::kAbsent;
  const auto listing = list_bundle(folder);
  if (!listing || !listing->odd.empty()) return RunState::kForeign;
  if (listing->has(kManifestFile)) return RunState::kFinished;
  if (listing->has(kTranscriptFile)) return RunState::kUnfinished;
  if (fs::is_empty(folder, error)) return RunState::kAbsent;
  // Only what create() makes before the transcript, its lock first: a folder with a job file of the user's own in it
  // must not look like that.
  constexpr std::array kBefore = {kLockFile, kJobFile, kEngagementFile, kHeadsFile, kLogFile};
  const bool ours = std::ranges::all_of(listing->files, [&](const auto& file) {
    return is_temporary(file.first) || std::ranges::find(kBefore, file.first) != kBefore.end();
  });
  return ours && listing->has(kLockFile) ? RunState::kNotBegun : RunState::kForeign;
}

}  // namespace isobit::bundle
