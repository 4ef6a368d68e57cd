// Files that other processes read while a sweep goes on: that they are still what was hashed.
#pragma once

#include <vector>

#include "isobit/base/file_identity.h"
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
  struct Watched {
    fs::path path;
    FileIdentity identity;
    commit::Digest digest{};
  };
  std::vector<Watched> files_;
};

// SHA-256 of a file of any size.
Expected<commit::Digest> sha256_of_file(const fs::path& path);

}  // namespace isobit::lab::measure
