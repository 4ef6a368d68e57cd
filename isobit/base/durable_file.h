// A file that is written piece by piece and is there, durable and whole, or not at all.
#pragma once

#include "isobit/base/file.h"

namespace isobit {

// Grows in a temporary beside its name ("NAME.<16 hex digits>.tmp") until commit() gives it that name. Removes the
// temporary when it is destroyed before. Errors and what may be replaced: as write_file_durably.
class DurableFile {
 public:
  static Expected<DurableFile> create(const fs::path& path, const WriteOptions& options = {});
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&&) = delete;
  ~DurableFile();
  Status append(ByteView data);
  // Once, after everything is appended.
  Status commit();

 private:
  DurableFile() = default;

  fs::path path_, temporary_;  // no temporary: there is nothing to remove
  bool replace_ = false;
  Descriptor fd_;
};

// Gives a finished and durable file another name of the same folder, which is durable, too. kUsage when something of
// that name is there; `from` then stays.
Status rename_durably(const fs::path& from, const fs::path& to);

// 16 hex digits that nobody can foresee.
Expected<std::string> random_name();

}  // namespace isobit
