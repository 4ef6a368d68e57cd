// Append-only files of records (transcript, heads; the log is in log_file.h): a header, then per record its length, a
// checksum and its bytes. A kill can only tear the end, and a torn end shows. Byte layout: docs/formats/bundle.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/verify/head.h"
#include "isobit/verify/transcript.h"

namespace isobit::bundle {

// u32 length, u64 checksum (of length and bytes), the bytes.
inline constexpr size_t kRecordOverhead = 12;
Bytes encode_record(ByteView payload);
// Length and checksum alone, for a payload that is too large to copy.
std::array<uint8_t, kRecordOverhead> record_header(ByteView payload);

// Whole records from the front of `data`, as views into it; stops at the first that is cut short, longer than max_size
// or fails its checksum.
struct Records {
  std::vector<ByteView> payloads;
  size_t good_bytes = 0;  // that the whole records take
  std::string torn;       // what is wrong with the rest; empty when there is none
};
Records read_records(ByteView data, size_t max_size);

Bytes transcript_header(const verify::TranscriptRules& rules);
Bytes heads_header();

// A file of leaves. `torn` is for the caller to judge: right after a kill, wrong in a finished run. Leaves that do not
// fit are kRejected, a file that is no transcript kUnreadable.
struct TranscriptFile {
  verify::Transcript transcript;
  size_t good_bytes = 0;
  std::string torn;
};
Expected<TranscriptFile> decode_transcript_file(ByteView data, const std::string& what);
Bytes encode_transcript_file(const verify::Transcript& transcript);
// As it was when it had this many leaves. REQUIRES no more than it has.
TranscriptFile first_leaves(const TranscriptFile& file, uint64_t leaves);

struct HeadsFile {
  std::vector<verify::SignedHead> heads;  // signatures unchecked
  size_t good_bytes = 0;
  std::string torn;
};
Expected<HeadsFile> decode_heads_file(ByteView data, const std::string& what);

}  // namespace isobit::bundle
