// Append-only files of records (transcript, heads; the log is in log_file.h): a header, then per record its length, a
// checksum and its bytes. A kill can only tear the end, and a torn end shows. Byte layout: docs/formats/bundle.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// Goes through the whole records at the front of `data`; stops at the first that is cut short, longer than max_size or
// fails its checksum. Keeps no record, so that a caller who refuses one has allocated nothing for those after it.
class RecordCursor {
 public:
  RecordCursor(ByteView data, size_t max_size) : data_(data), max_size_(max_size) {}
  // The next record's bytes, as a view into the data; none at the end and where the rest is torn.
  std::optional<ByteView> next();
  uint64_t count() const { return count_; }          // of records so far
  size_t good_bytes() const { return good_bytes_; }  // that they take
  const std::string& torn() const { return torn_; }  // what is wrong with the rest; empty when there is none

 private:
  std::nullopt_t tear(std::string_view problem);

  ByteView data_;
  size_t max_size_;
  uint64_t count_ = 0;
  size_t good_bytes_ = 0;
  std::string torn_;
};

Bytes transcript_header(const verify::TranscriptRules& rules);
Bytes heads_header();

// A file of leaves. `torn` is for the caller to judge: right after a kill, wrong in a finished run. Leaves that do not
// fit are kRejected, and so is a header that is not `job`'s where that is known; a file that is no transcript is
// kUnreadable.
struct TranscriptFile {
  verify::Transcript transcript;
  size_t good_bytes = 0;
  std::string torn;
};
Expected<TranscriptFile> decode_transcript_file(ByteView data, const std::string& what,
                                                const verify::TranscriptRules* job = nullptr);
Bytes encode_transcript_file(const verify::Transcript& transcript);
// As it was when it had this many leaves. REQUIRES no more than it has.
TranscriptFile first_leaves(const TranscriptFile& file, uint64_t leaves);

struct HeadsFile {
  std::vector<verify::SignedHead> heads;  // signatures unchecked
  // Those whole ones that stand behind a damaged record: all heads take the same space.
  std::vector<verify::SignedHead> behind;
  size_t good_bytes = 0;
  std::string torn;
};
Expected<HeadsFile> decode_heads_file(ByteView data, const std::string& what);

}  // namespace isobit::bundle
