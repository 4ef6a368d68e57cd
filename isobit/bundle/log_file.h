// The rounding log of a logged run: record i holds the segment of step i + 1. It may be many times larger than memory,
// so no more than one segment of it is ever read at once. Byte layout: docs/formats/bundle.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/record_file.h"
#include "isobit/commit/hash.h"
#include "isobit/verify/transcript.h"

namespace isobit::bundle {

Bytes log_header();

// Where the segments lie in the file. Steps count from 1.
class LogIndex {
 public:
  LogIndex() : ends_{log_header().size()} {}
  uint64_t segments() const { return ends_.size() - 1; }
  // The header and all segments.
  uint64_t bytes() const { return ends_.back(); }
  // REQUIRES 1 <= step <= segments().
  uint64_t offset(uint64_t step) const { return ends_[step - 1] + kRecordOverhead; }
  uint64_t size(uint64_t step) const { return ends_[step] - offset(step); }
  void add(uint64_t segment_bytes) { ends_.push_back(bytes() + kRecordOverhead + segment_bytes); }
  void cut(uint64_t segments) { ends_.resize(segments + 1); }  // REQUIRES no more than there are

 private:
  std::vector<uint64_t> ends_;  // of the header, then of every record
};

// The checksums of records are against accidents. kTrust: they are not computed, because a digest of the whole file is
// compared.
enum class Checksums { kCompare, kTrust };

// Goes through a log from its beginning, record by record. The caller chooses how many: nothing grows with what a file
// merely claims.
class LogScanner {
 public:
  // kUnreadable when it is no log or from a newer version. `what` starts the messages. `source` must stay.
  static Expected<LogScanner> begin(const ByteSource& source, const std::string& what);
  // Behind what the index has, of a log that has grown since. It has no digest.
  static LogScanner go_on(const ByteSource& source, LogIndex index);

  // Both add the next record to the index. False when no whole one follows. Errors only when reading fails.
  Expected<bool> skip();                                                           // by its length alone
  Expected<bool> next(Bytes& segment, Checksums checksums = Checksums::kCompare);  // reads it

  const LogIndex& index() const { return index_; }
  // After a false: what is wrong with the rest; empty at the end of the file.
  const std::string& torn() const { return torn_; }
  // SHA-256 of the bytes that were read: of the whole file when next() went to its end and skip() was not called.
  commit::Digest digest() const { return read_.digest(); }

 private:
  explicit LogScanner(const ByteSource& source) : source_(&source) {}
  Expected<bool> record(std::span<uint8_t, kRecordOverhead> header, uint64_t& length);
  bool tear(std::string_view problem);

  const ByteSource* source_;
  LogIndex index_;
  std::string torn_;
  commit::Sha256 read_;
};

// An open log and where its segments are.
struct Log {
  ReadFile file;
  LogIndex index;
  // kRejected, naming the step, when its record is not whole or its checksum is another; kUsage when there is no such
  // step. Whether its entries are those of the step's leaf shows only when it is decoded. `what` starts the messages.
  // Allocates what the index says.
  Expected<Bytes> read(const verify::Transcript& transcript, uint64_t step, const std::string& what,
                       Checksums checksums = Checksums::kCompare) const;
};

// The log of a run that is being written.
class LogFileWriter {
 public:
  // Cuts the file to what the index has.
  static Expected<LogFileWriter> open(const fs::path& path, Log log);
  // kUsage when the segment or the log would be larger than layout.h allows. A segment of this step that is there
  // already (its leaf could not be written) is replaced. REQUIRES step <= segments() + 1.
  Status append(uint64_t step, ByteView segment);
  Status sync() { return out_.sync(); }
  const Log& log() const { return log_; }

 private:
  LogFileWriter(fs::path path, Log log, AppendFile out)
      : path_(std::move(path)), log_(std::move(log)), out_(std::move(out)) {}

  fs::path path_;
  Log log_;
  AppendFile out_;
};

}  // namespace isobit::bundle
