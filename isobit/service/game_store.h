// Where the games of one run are kept between two starts: a folder with a file for each, which grows at its end, and
// one beside it that says how the game ended. Layout: docs/service.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isobit/base/file.h"
#include "isobit/commit/signature.h"
#include "isobit/dispute/closing.h"

namespace isobit::service {

// A file of one game, open for more at its end.
class GameFile {
 public:
  // Behind what is there, for good before it returns. On an error nothing of it; where the disk itself failed, nothing
  // more either.
  Status save(ByteView more);
  ~GameFile();

 private:
  friend class GameStore;
  struct Impl;
  explicit GameFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class GameStore {
 public:
  // Makes the folder. ending: of the files' names ("answers", "kept"). lock: the name of an empty file that is held
  // until this goes. kUsage where another process holds it; kUnavailable where the folder cannot be written.
  static Expected<GameStore> open(const fs::path& folder, const commit::RunId& run, std::string ending,
                                  const std::string& lock);

  // What was kept of a game; none where it never began. kUnreadable beyond dispute::kMaxRecordBytes.
  Expected<std::optional<Bytes>> read(const commit::PublicKey& challenger) const;
  // For more, of which the first `whole` bytes stay; makes it where it is not there.
  Expected<std::unique_ptr<GameFile>> append_to(const commit::PublicKey& challenger, uint64_t whole) const;

  bool has_begun(const commit::PublicKey& challenger) const;
  bool is_closed(const commit::PublicKey& challenger) const;
  Status close(const dispute::Closing& closing) const;

  // Games that began and did not end.
  size_t count_open() const;
  const fs::path& folder() const { return folder_; }

 private:
  GameStore() = default;
  fs::path file_of(const commit::PublicKey& challenger, const std::string& ending) const;

  fs::path folder_;
  commit::RunId run_{};
  std::string ending_;
  Descriptor lock_;
};

// "<run id>-<key>", 32 and 64 hex digits.
std::string game_name(const commit::RunId& run, const commit::PublicKey& challenger);

}  // namespace isobit::service
