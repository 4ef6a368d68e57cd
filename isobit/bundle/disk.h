// The system calls of a bundle. Nothing here follows a symbolic link inside a bundle or opens anything but plain files.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/manifest.h"

namespace isobit::bundle {

// Closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int release();
  int fd_ = -1;
};

// kUnreadable when it is missing, no plain file, or larger than max_size.
Expected<Bytes> read_plain_file(const fs::path& path, uint64_t max_size);
// Size and SHA-256, in constant memory.
Expected<FileEntry> digest_of_file(const fs::path& path);
FileEntry entry_of(ByteView data);

// What a bundle's folder holds, the checkpoint folder included: path in the bundle -> size.
struct Listing {
  std::map<std::string, uint64_t> files;
  std::string odd;  // the first thing that is no plain file in an expected place; empty when there is none
  bool has(std::string_view name) const { return files.contains(std::string(name)); }
};
// kUnreadable when `folder` is no folder or cannot be read.
Expected<Listing> list_bundle(const fs::path& folder);

bool is_temporary(const std::string& path);

// An open file that grows by whole records. A failed append leaves it as it was.
class AppendFile {
 public:
  // Opens an existing plain file and cuts it to `size` bytes, durably when that changes it.
  static Expected<AppendFile> open(const fs::path& path, uint64_t size);
  // kUnavailable when the disk is full.
  Status append(ByteView data);
  Status sync();

 private:
  fs::path path_;
  Descriptor fd_;
  uint64_t size_ = 0;
  bool dirty_ = false;
  bool lost_ = false;  // after a failed sync nobody knows what is on the disk
};

// Holds the lock file of a bundle, creating it, until destroyed. kUsage when another process holds it.
Expected<Descriptor> lock_bundle(const fs::path& folder);

Status remove_file(const fs::path& path);

}  // namespace isobit::bundle
