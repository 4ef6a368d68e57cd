// What reader and resuming writer share in opening the files of a run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/log_file.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/reader.h"
#include "isobit/bundle/record_file.h"
#include "isobit/verify/engagement.h"

namespace isobit::bundle {

// "RUN/heads", for messages.
std::string name_in(const fs::path& folder, std::string_view file);

// In a finished run everything is signed for, so what cannot be read or decoded there is not merely unreadable.
template <class T>
Expected<T> or_rejected(Expected<T> value) {
  if (value || value.error().code != ErrorCode::kUnreadable) return value;
  return rejected(std::move(value).error().message);
}

// Steps, increasing.
std::vector<uint64_t> checkpoints_in(const Listing& listing);

struct Parts {
  TranscriptFile transcript;
  HeadsFile heads;
};

// verify::verify_engagement, with the file in the message, for the client of the options or, without, the one that it
// names itself; and that its terms are those of the options, where these have any.
Status check_engagement(const verify::Engagement& engagement, const OpenOptions& options, const fs::path& folder);

// What a finished run is signed for by.
struct SignedFront {
  verify::Engagement engagement;
  Manifest manifest;
};
// From the bytes of the three files `engagement`, `manifest.json` and `manifest.sig`, which `folder` names in messages.
// In the order of trust: the engagement, by check_engagement; the signature over the manifest's bytes; and only then
// the manifest. kRejected, or kUnreadable where one is of a newer version.
Expected<SignedFront> open_signed_front(const fs::path& folder, ByteView engagement, ByteView manifest,
                                        ByteView signature, const OpenOptions& options);

// kRejected unless the manifest lists exactly this for the file.
Status check_entry(const fs::path& folder, std::string_view name, const FileEntry& found, const Manifest& manifest);

// kRejected unless the folder has a log exactly when the job is logged.
Status check_log_presence(bool logged, const Listing& listing, const fs::path& folder);

// For a writer that takes a run up again: the segments up to the first that is missing or damaged; `parts` then has the
// leaves up to there. Every segment is read.
Expected<Log> salvage_log(Parts& parts, const fs::path& folder);

// Of a logged run that is not finished, after check_parts: the segments of the leaves there are. What a power failure
// can take is left out: leaves after the last head whose segment did not get to the disk, from `parts` too. kRejected
// when a head covers a leaf whose segment is missing. Segments under the last head are not read, only those after it.
Expected<Log> open_unfinished_log(Parts& parts, const fs::path& folder);

// Of a finished one: the file, which is read once, compared with its entry in the manifest. Checksums of records are
// looked at only to say where it differs.
Expected<Log> open_finished_log(const verify::Transcript& transcript, const FileEntry& entry, const fs::path& folder);

// kRejected unless the transcript is of the engaged job.
Status check_initial(const Parts& parts, const verify::Engagement& engagement, const fs::path& folder);
// The same, and every head of this transcript and by an engaged key.
Status check_parts(const Parts& parts, const verify::Engagement& engagement, const fs::path& folder);

}  // namespace isobit::bundle
