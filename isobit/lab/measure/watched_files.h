// Files that other processes read while a sweep goes on: that they are still what was hashed.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/commit/hash.h"

namespace isobit::lab::measure {

class WatchedFiles {
 public:
  // Hashes the file and watches it from then on; its SHA-256. Errors: those of reading it.
  Expected<commit::Digest> add(const fs::path& path);

  // kUnreadable where a file is another one than when it was added, or was written to, as far as its folder and its
  // times say. Costs nothing: to be asked of everything that somebody made of the files, after it was made.
  Status check_same() const;
  // kUnreadable where one has other bytes. Reads them all.
  Status check_bytes() const;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec written{}, noted{};
    bool operator==(const Identity& other) const;
  };
  struct Watched {
    fs::path path;
    Identity identity;
    commit::Digest digest{};
  };
  static Expected<Identity> identity_of(const fs::path& path);

  std::vector<Watched> files_;
};

// SHA-256 of a file of any size.
Expected<commit::Digest> sha256_of_file(const fs::path& path);

}  // namespace isobit::lab::measure
