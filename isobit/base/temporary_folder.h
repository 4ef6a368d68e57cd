// A folder for files that are needed for a while.
#pragma once

#include <string>

#include "isobit/base/file.h"

namespace isobit {

// Under the system's folder for temporary files (TMPDIR), readable by its owner alone. Removed, with all that is in it,
// with the object.
class TemporaryFolder {
 public:
  // "isobit-PURPOSE-" and six random characters. kUnavailable when it cannot be made.
  static Expected<TemporaryFolder> make(const std::string& purpose);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const fs::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

}  // namespace isobit
