#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/parts_internal.h"

namespace isobit::bundle {

Expected<RawParts> read_parts(const fs::path& folder) {
  RawParts raw;
  ISOBIT_TRY(raw.job_toml, read_plain_file(folder / kJobFile, kMaxJobBytes));
  ISOBIT_TRY(raw.engagement, read_plain_file(folder / kEngagementFile, kMaxEngagementBytes));
  ISOBIT_TRY(raw.transcript, read_plain_file(folder / kTranscriptFile, kMaxRecordFileBytes));
  ISOBIT_TRY(raw.heads, read_plain_file(folder / kHeadsFile, kMaxRecordFileBytes));
  return raw;
}

Expected<Parts> decode_parts(const RawParts& raw, const fs::path& folder) {
  const auto name = [&](std::string_view file) { return (folder / file).string(); };
  ISOBIT_TRY(verify::Engagement engagement, verify::decode_engagement(raw.engagement, name(kEngagementFile)));
  ISOBIT_TRY(TranscriptFile transcript, decode_transcript_file(raw.transcript, name(kTranscriptFile)));
  ISOBIT_TRY(HeadsFile heads, decode_heads_file(raw.heads, name(kHeadsFile)));
  return Parts{std::move(engagement), std::move(transcript), std::move(heads)};
}

Status check_parts(const Parts& parts, const commit::PublicKey& client, const fs::path& folder) {
  ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(parts.engagement, client));
  const verify::Transcript& transcript = parts.transcript.transcript;
  if (transcript.size() > 0 && transcript.initial().job_root != parts.engagement.terms.job_root) {
    return rejected(text_of((folder / kTranscriptFile).string(), ": field 'job_root': found ",
                            commit::hex_of(transcript.initial().job_root), ", the engagement says ",
                            commit::hex_of(parts.engagement.terms.job_root)));
  }
  return verify::verify_heads(parts.heads.heads, parts.engagement, transcript, (folder / kHeadsFile).string());
}

}  // namespace isobit::bundle
