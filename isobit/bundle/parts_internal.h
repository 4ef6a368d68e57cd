// The four files that every run has from its beginning, for whoever opens it: reader or resuming writer.
#pragma once

#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
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

// kRejected unless the engagement is of this client, the transcript of the engaged job and every head of this
// transcript.
Status check_parts(const Parts& parts, const commit::PublicKey& client, const fs::path& folder);

}  // namespace isobit::bundle
