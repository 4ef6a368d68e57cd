// The files that every run has from its beginning, for whoever opens it: reader or resuming writer.
#pragma once

#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/log_file.h"
#include "isobit/bundle/record_file.h"
#include "isobit/commit/signature.h"
#include "isobit/verify/engagement.h"

namespace isobit::bundle {

struct RawParts {
  Bytes job_toml;
  Bytes engagement;
  Bytes transcript;
  Bytes heads;
};
Expected<RawParts> read_parts(const fs::path& folder);

struct Parts {
  verify::Engagement engagement;
  TranscriptFile transcript;
  HeadsFile heads;
};
// `folder` is for the messages.
Expected<Parts> decode_parts(const RawParts& raw, const fs::path& folder);

// kRejected unless the folder has a log exactly when the job is logged.
Status check_log_presence(const Parts& parts, const Listing& listing, const fs::path& folder);

// Of a logged run that is not finished, after check_parts: the segments of the leaves there are. What a power failure
// can take is left out: leaves after the last head whose segment did not get to the disk, from `parts` too. kRejected
// when a head covers a leaf whose segment is missing. Segments under the last head are not read, only those after it.
Expected<Log> open_unfinished_log(Parts& parts, const fs::path& folder);

// Of a finished one: every segment read and compared with its leaf and the file with its entry in the manifest.
Expected<Log> open_finished_log(const verify::Transcript& transcript, const FileEntry& entry, const fs::path& folder);

// kRejected unless the engagement is of this client, the transcript of the engaged job and every head of this
// transcript.
Status check_parts(const Parts& parts, const commit::PublicKey& client, const fs::path& folder);

}  // namespace isobit::bundle
