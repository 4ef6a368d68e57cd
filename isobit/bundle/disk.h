// The system calls of a bundle. Nothing here follows a symbolic link inside a bundle or opens anything but plain files.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/manifest.h"

namespace isobit::bundle {

// Bytes that can be read from any place.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // Fills as much of `buffer` as there is from `offset` on.
  virtual Expected<size_t> read_at(uint64_t offset, std::span<uint8_t> buffer) const = 0;
};

// An open plain file. Several threads may read from it at a time.
class ReadFile : public ByteSource {
 public:
  // kUnreadable when it is missing or no plain file.
  static Expected<ReadFile> open(const fs::path& path, Links links = Links::kRefuse);
  uint64_t size() const override { return file_.size(); }  // when it was opened
  Expected<size_t> read_at(uint64_t offset, std::span<uint8_t> buffer) const override {
    return file_.read_at(offset, buffer);
  }

 private:
  explicit ReadFile(PlainFile file) : file_(std::move(file)) {}

  PlainFile file_;
};

// kUnreadable when it is missing, no plain file, or larger than max_size.
Expected<Bytes> read_plain_file(const fs::path& path, uint64_t max_size);
// Size and SHA-256, in constant memory. kUnreadable when it is missing, no plain file, or larger than max_size.
Expected<FileEntry> digest_of_file(const fs::path& path, uint64_t max_size);
FileEntry entry_of(ByteView data);
// Of one that is open: as much as it had when it was opened.
Expected<FileEntry> digest_of_file(const ReadFile& file);
// Of a file in pieces.
FileEntry entry_of(std::span<const ByteView> pieces);

// What a bundle's folder holds, the folders of checkpoints and log included: path in the bundle -> size.
struct Listing {
  std::map<std::string, uint64_t> files;
  bool log_folder = false;  // empty or not
  std::string odd;          // the first thing that is no plain file in an expected place; empty when there is none
  bool has(std::string_view name) const { return files.contains(std::string(name)); }
};
// kUnreadable when `folder` is no folder or cannot be read.
Expected<Listing> list_bundle(const fs::path& folder);

bool is_temporary(const std::string& path);

// kUsage when `path`, which need not be there, is in the folder of a run or one within: what is written there would
// make it a run that nobody signed for.
Status check_outside_runs(const fs::path& path);
// The same of the folder in which a run will be.
Status check_outside_coming_run(const fs::path& path, const fs::path& run);

// An open file that grows by whole records. A failed append leaves it as it was.
class AppendFile {
 public:
  // Opens an existing plain file and cuts it to `size` bytes, durably when that changes it.
  static Expected<AppendFile> open(const fs::path& path, uint64_t size);
  // `first`, then `second`, as one record. kUnavailable when the disk is full.
  Status append(ByteView first, ByteView second = {});
  // Drops what follows the first `size` bytes. REQUIRES no more than there are.
  Status cut(uint64_t size);
  Status sync();

 private:
  Status write_at(uint64_t offset, ByteView data);  // the message is the bare reason

  fs::path path_;
  Descriptor fd_;
  uint64_t size_ = 0;
  bool dirty_ = false;
  bool lost_ = false;  // after a failed sync what is on the disk is unknown
};

// Holds the lock file of a bundle, creating it, until destroyed. kUsage when another process holds it.
Expected<Descriptor> lock_bundle(const fs::path& folder);

Status remove_file(const fs::path& path);

}  // namespace isobit::bundle
