// A checkpoint on disk that is read once, from its first byte to its last, and hashed on the way: whoever reads it
// knows afterwards whether it is what was signed for, and never has the whole of it in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/disk.h"
#include "isobit/commit/hash.h"

namespace isobit::bundle {

class CheckpointFile {
 public:
  // Judges what was read, once all of it has been.
  using Check = std::function<Status(const FileEntry& found)>;
  // kUnreadable when it is missing, no plain file, or larger than max_size.
  static Expected<CheckpointFile> open(const fs::path& path, uint64_t max_size, Check check);

  uint64_t size() const { return file_.size(); }  // when it was opened
  // Exactly `to`; kUnreadable where the file ends before, kUnavailable where this machine cannot read it. REQUIRES the
  // offset at which the last read ended.
  Status read(uint64_t offset, std::span<uint8_t> to);
  // Reads what is left; then what the check says. Where something could not be read nothing is checked: kUnavailable,
  // since a disk that fails says nothing about who wrote the file.
  Status finish();

 private:
  CheckpointFile(fs::path path, ReadFile file, Check check)
      : path_(std::move(path)), file_(std::move(file)), check_(std::move(check)) {}

  fs::path path_;
  ReadFile file_;
  Check check_;
  commit::Sha256 hash_;
  uint64_t position_ = 0;
  std::optional<Error> broken_;  // of a read that failed
};

}  // namespace isobit::bundle
