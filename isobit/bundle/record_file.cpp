#include "isobit/bundle/record_file.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/commit/hash.h"
#include "isobit/verify/object.h"

namespace isobit::bundle {
namespace {

constexpr std::string_view kTranscriptTag = "isobit.transcript_file";
constexpr std::string_view kHeadsTag = "isobit.heads_file";
constexpr uint32_t kVersion = 1;
constexpr size_t kChecksumBytes = 8;

// Against accidents only; who tampers is stopped by the signatures.
ByteView checksum_of(const commit::Digest& digest) { return ByteView(digest).first(kChecksumBytes); }

Expected<verify::TranscriptRules> read_transcript_header(ByteReader& reader, ByteView data, const std::string& what) {
  ISOBIT_RETURN_IF_ERROR(verify::read_frame(reader, kTranscriptTag, kVersion));
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

Records read_records(ByteView data, size_t max_size) {
  Records records;
  while (records.good_bytes < data.size()) {
    const ByteView rest = data.subspan(records.good_bytes);
    auto torn = [&](std::string_view problem) {
      records.torn = text_of("record ", records.payloads.size(), " at byte ", records.good_bytes, " ", problem);
    };
    if (rest.size() < kRecordOverhead) {
      torn("is cut short");
      break;
    }
    uint32_t length;
    std::memcpy(&length, rest.data(), sizeof length);
    if (length > max_size) {
      torn(text_of("claims ", length, " bytes, over the limit of ", max_size));
      break;
    }
    if (rest.size() - kRecordOverhead < length) {
      torn("is cut short");
      break;
    }
    const ByteView payload = rest.subspan(kRecordOverhead, length);
    if (!std::ranges::equal(rest.first(kRecordOverhead), record_header(payload))) {
      torn("fails its checksum");
      break;
    }
    records.payloads.push_back(payload);
    records.good_bytes += kRecordOverhead + length;
  }
  return records;
}

Bytes transcript_header(const verify::TranscriptRules& rules) {
  ByteWriter writer;
  verify::write_frame(writer, kTranscriptTag, kVersion);
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
  verify::write_frame(writer, kHeadsTag, kVersion);
  return writer.take();
}

Expected<TranscriptFile> decode_transcript_file(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_TRY(const verify::TranscriptRules rules, read_transcript_header(reader, data, what));
  const size_t header = reader.offset();
  Records records = read_records(data.subspan(header), verify::kMaxLeafBytes);
  TranscriptFile file{verify::Transcript(rules), header + records.good_bytes, std::move(records.torn)};
  for (const ByteView payload : records.payloads) {
    auto leaf = verify::decode_leaf(payload, rules, text_of(what, ": leaf ", file.transcript.size()));
    if (!leaf) return rejected(std::move(leaf).error().message);
    ISOBIT_RETURN_IF_ERROR(file.transcript.append(*leaf));
  }
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
  ISOBIT_RETURN_IF_ERROR(verify::read_frame(reader, kHeadsTag, kVersion));
  const size_t header = reader.offset();
  Records records = read_records(data.subspan(header), verify::kMaxLeafBytes);
  HeadsFile file{{}, header + records.good_bytes, std::move(records.torn)};
  for (const ByteView payload : records.payloads) {
    auto head = verify::decode_head(payload, text_of(what, ": head ", file.heads.size()));
    if (!head) return rejected(std::move(head).error().message);
    file.heads.push_back(*head);
  }
  return file;
}

}  // namespace isobit::bundle
