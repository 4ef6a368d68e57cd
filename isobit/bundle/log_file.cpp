#include "isobit/bundle/log_file.h"

#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"

namespace isobit::bundle {
namespace {
constexpr std::string_view kLogTag = "isobit.log_file";
constexpr uint32_t kLogFileVersion = 1;
}  // namespace

Bytes log_header() {
  ByteWriter writer;
  write_frame(writer, kLogTag, kLogFileVersion);
  return writer.take();
}

Expected<LogScanner> LogScanner::begin(const ByteSource& source, const std::string& what) {
  LogScanner scanner(source);
  Bytes header(log_header().size());
  ISOBIT_TRY(const size_t size, source.read_at(0, header));
  header.resize(size);
  ByteReader reader(header, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kLogTag, kLogFileVersion));
  scanner.read_.update(header);
  return scanner;
}

LogScanner LogScanner::go_on(const ByteSource& source, LogIndex index) {
  LogScanner scanner(source);
  scanner.index_ = std::move(index);
  return scanner;
}

bool LogScanner::tear(std::string_view problem) {
  torn_ = text_of("record ", index_.segments(), " at byte ", index_.bytes(), " ", problem);
  return false;
}

Expected<bool> LogScanner::record(std::span<uint8_t, kRecordOverhead> header, uint64_t& length) {
  const uint64_t begin = index_.bytes();
  const uint64_t rest = source_->size() - std::min(source_->size(), begin);
  if (rest == 0) return false;
  if (rest < kRecordOverhead) return tear("is cut short");
  ISOBIT_TRY(const size_t got, source_->read_at(begin, header));
  if (got < kRecordOverhead) return tear("is cut short");
  uint32_t claimed;
  std::memcpy(&claimed, header.data(), sizeof claimed);
  length = claimed;
  if (length > kMaxLogSegmentBytes) {
    return tear(text_of("claims ", length, " bytes, over the limit of ", kMaxLogSegmentBytes));
  }
  if (rest - kRecordOverhead < length) return tear("is cut short");
  return true;
}

Expected<bool> LogScanner::skip() {
  std::array<uint8_t, kRecordOverhead> header;
  uint64_t length = 0;
  ISOBIT_TRY(const bool whole, record(header, length));
  if (whole) index_.add(length);
  return whole;
}

Expected<bool> LogScanner::next(Bytes& segment, Checksums checksums) {
  std::array<uint8_t, kRecordOverhead> header;
  uint64_t length = 0;
  ISOBIT_TRY(const bool whole, record(header, length));
  if (!whole) return false;
  segment.resize(static_cast<size_t>(length));
  ISOBIT_TRY(const size_t got, source_->read_at(index_.bytes() + kRecordOverhead, segment));
  if (got < length) return tear("is cut short");
  if (checksums == Checksums::kCompare && header != record_header(segment)) return tear("fails its checksum");
  read_.update(header).update(segment);
  index_.add(length);
  return true;
}

Expected<Bytes> Log::read(const verify::Transcript& transcript, uint64_t step, const std::string& what,
                          Checksums checksums) const {
  if (step == 0 || step > std::min(transcript.steps(), index.segments())) {
    return usage_error(text_of(what, ": has no segment of step ", step, ", only of steps 1 to ",
                               std::min(transcript.steps(), index.segments())));
  }
  Bytes segment(static_cast<size_t>(index.size(step)));
  std::array<uint8_t, kRecordOverhead> header;
  ISOBIT_TRY(const size_t head, file.read_at(index.offset(step) - kRecordOverhead, header));
  ISOBIT_TRY(const size_t got, file.read_at(index.offset(step), segment));
  const bool whole = head == header.size() && got == segment.size();
  if (!whole || (checksums == Checksums::kCompare && header != record_header(segment))) {
    return rejected(text_of(what, ": step ", step, ": the segment is not the one that was there, or is damaged"));
  }
  return segment;
}

Expected<LogFileWriter> LogFileWriter::open(const fs::path& path, Log log) {
  ISOBIT_TRY(AppendFile out, AppendFile::open(path, log.index.bytes()));
  return LogFileWriter(path, std::move(log), std::move(out));
}

Status LogFileWriter::append(uint64_t step, ByteView segment) {
  LogIndex& index = log_.index;
  ISOBIT_CHECK(step >= 1 && step <= index.segments() + 1);
  if (segment.size() > kMaxLogSegmentBytes) {
    return usage_error(text_of(path_.string(), ": the segment of step ", step, " is ", human_bytes(segment.size()),
                               ", more than the ", human_bytes(kMaxLogSegmentBytes), " one may have"));
  }
  if (index.segments() >= step) {
    ISOBIT_RETURN_IF_ERROR(out_.cut(index.offset(step) - kRecordOverhead));
    index.cut(step - 1);
  }
  if (kMaxLogBytes - index.bytes() < kRecordOverhead + segment.size()) {
    return usage_error(text_of(path_.string(), ": the log of step ", step, " would make it larger than ",
                               human_bytes(kMaxLogBytes), ", the most a log may have"));
  }
  ISOBIT_RETURN_IF_ERROR(out_.append(record_header(segment), segment));
  index.add(segment.size());
  return {};
}

}  // namespace isobit::bundle
