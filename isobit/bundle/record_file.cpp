#include "isobit/bundle/record_file.h"

#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/bundle/run_limits.h"
#include "isobit/commit/hash.h"

namespace isobit::bundle {
namespace {

constexpr std::string_view kTranscriptTag = "isobit.transcript_file";
constexpr std::string_view kHeadsTag = "isobit.heads_file";
constexpr uint32_t kRecordFileVersion = 1;
constexpr size_t kChecksumBytes = 8;

// Against accidents only; who tampers is stopped by the signatures.
ByteView checksum_of(const commit::Digest& digest) { return ByteView(digest).first(kChecksumBytes); }

Expected<verify::TranscriptRules> read_transcript_header(ByteReader& reader, ByteView data, const std::string& what) {
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kTranscriptTag, kRecordFileVersion));
  verify::TranscriptRules rules;
  ISOBIT_TRY(rules.steps, reader.u64("steps"));
  ISOBIT_TRY(rules.commit_every, reader.u64("commit_every"));
  ISOBIT_TRY(const uint8_t dtype, reader.u8("loss dtype"));
  rules.loss_dtype = static_cast<DType>(dtype);
  ISOBIT_TRY(rules.logged, reader.boolean("logged"));
  const size_t covered = reader.offset();
  ISOBIT_TRY(const ByteView checksum, reader.fixed("header checksum", kChecksumBytes));
  const commit::Digest digest = commit::sha256(data.first(covered));
  if (!std::ranges::equal(checksum, checksum_of(digest))) {
    return reader.fail("header checksum", "does not fit the header; the file is damaged");
  }
  ISOBIT_RETURN_IF_ERROR(rules.check(what));
  return rules;
}

}  // namespace

std::array<uint8_t, kRecordOverhead> record_header(ByteView payload) {
  std::array<uint8_t, kRecordOverhead> header;
  const auto length = static_cast<uint32_t>(payload.size());
  std::memcpy(header.data(), &length, sizeof length);
  const commit::Digest digest = commit::Sha256().update(ByteView(header).first(sizeof length)).update(payload).digest();
  std::ranges::copy(checksum_of(digest), header.begin() + sizeof length);
  return header;
}

Bytes encode_record(ByteView payload) {
  Bytes record(kRecordOverhead + payload.size());
  std::ranges::copy(record_header(payload), record.begin());
  std::ranges::copy(payload, record.begin() + kRecordOverhead);
  return record;
}

std::nullopt_t RecordCursor::tear(std::string_view problem) {
  torn_ = text_of("record ", count_, " at byte ", good_bytes_, " ", problem);
  return std::nullopt;
}

std::optional<ByteView> RecordCursor::next() {
  if (!torn_.empty() || good_bytes_ == data_.size()) return std::nullopt;
  const ByteView rest = data_.subspan(good_bytes_);
  if (rest.size() < kRecordOverhead) return tear("is cut short");
  uint32_t length;
  std::memcpy(&length, rest.data(), sizeof length);
  if (length > max_size_) return tear(text_of("claims ", length, " bytes, over the limit of ", max_size_));
  if (rest.size() - kRecordOverhead < length) return tear("is cut short");
  const ByteView payload = rest.subspan(kRecordOverhead, length);
  if (!std::ranges::equal(rest.first(kRecordOverhead), record_header(payload))) return tear("fails its checksum");
  ++count_;
  good_bytes_ += kRecordOverhead + length;
  return payload;
}

Bytes transcript_header(const verify::TranscriptRules& rules) {
  ByteWriter writer;
  write_frame(writer, kTranscriptTag, kRecordFileVersion);
  writer.u64(rules.steps);
  writer.u64(rules.commit_every);
  writer.u8(static_cast<uint8_t>(rules.loss_dtype));
  writer.boolean(rules.logged);
  const commit::Digest digest = commit::sha256(writer.view());
  writer.fixed(checksum_of(digest));
  return writer.take();
}

Bytes heads_header() {
  ByteWriter writer;
  write_frame(writer, kHeadsTag, kRecordFileVersion);
  return writer.take();
}

Expected<TranscriptFile> decode_transcript_file(ByteView data, const std::string& what,
                                                const verify::TranscriptRules* job) {
  ByteReader reader(data, what);
  ISOBIT_TRY(const verify::TranscriptRules rules, read_transcript_header(reader, data, what));
  if (job != nullptr) ISOBIT_RETURN_IF_ERROR(check_rules(rules, *job, what));
  const size_t header = reader.offset();
  TranscriptFile file{verify::Transcript(rules), 0, {}};
  RecordCursor records(data.subspan(header), verify::kMaxLeafBytes);
  while (const auto payload = records.next()) {
    auto leaf = verify::decode_leaf(*payload, rules, text_of(what, ": leaf ", file.transcript.size()));
    if (!leaf) return rejected(std::move(leaf).error().message);
    ISOBIT_RETURN_IF_ERROR(file.transcript.append(*leaf));
  }
  file.good_bytes = header + records.good_bytes();
  file.torn = records.torn();
  return file;
}

Bytes encode_transcript_file(const verify::Transcript& transcript) {
  ByteWriter writer;
  writer.fixed(transcript_header(transcript.rules()));
  for (uint64_t i = 0; i < transcript.size(); ++i) writer.fixed(encode_record(verify::encode(transcript.leaf(i))));
  return writer.take();
}

TranscriptFile first_leaves(const TranscriptFile& file, uint64_t leaves) {
  const verify::Transcript& all = file.transcript;
  TranscriptFile out{verify::Transcript(all.rules()), transcript_header(all.rules()).size(), file.torn};
  for (uint64_t i = 0; i < leaves; ++i) {
    out.good_bytes += kRecordOverhead + verify::encode(all.leaf(i)).size();
    ISOBIT_CHECK(out.transcript.append(all.leaf(i)).has_value());
  }
  return out;
}

Expected<HeadsFile> decode_heads_file(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kHeadsTag, kRecordFileVersion));
  const size_t header = reader.offset();
  HeadsFile file;
  RecordCursor records(data.subspan(header), verify::kMaxLeafBytes);
  while (const auto payload = records.next()) {
    auto head = verify::decode_head(*payload, text_of(what, ": head ", file.heads.size()));
    if (!head) return rejected(std::move(head).error().message);
    file.heads.push_back(*head);
  }
  file.good_bytes = header + records.good_bytes();
  file.torn = records.torn();
  const size_t size = kRecordOverhead + verify::encode(verify::SignedHead{}).size();
  for (size_t at = file.good_bytes + size; at + size <= data.size(); at += size) {
    RecordCursor record(data.subspan(at, size), verify::kMaxLeafBytes);
    const auto payload = record.next();
    if (!payload) continue;
    const auto head = verify::decode_head(*payload, what);
    if (head) file.behind.push_back(*head);
  }
  return file;
}

}  // namespace isobit::bundle
