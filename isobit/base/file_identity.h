// Whether a file is still the one that was looked at, as far as its folder and its times say.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>

#include "isobit/base/file.h"

namespace isobit {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  mode_t mode = 0;
  off_t size = 0;
  timespec written{}, noted{};  // of its contents, and of what is noted of it: that tells of one moved away and back

  // None where nothing has that name. Errors as of cannot().
  static Expected<std::optional<FileIdentity>> of(const fs::path& path, Links links);
  bool operator==(const FileIdentity& other) const;
  bool is_plain() const;  // a regular file
};

}  // namespace isobit
