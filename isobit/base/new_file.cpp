#include "isobit/base/new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit {

Status create_file_durably(const fs::path& path, ByteView data, mode_t mode) {
  return write_file_durably(path, data, {.replace = false, .mode = mode});
}

Status make_folder_durably(const fs::path& path, mode_t mode) {
  fs::path folder;
  for (const fs::path& part : path) {
    if (part.empty()) continue;  // behind a slash at the end
    const fs::path holder = folder;
    folder /= part;
    if (::mkdir(folder.c_str(), mode) == 0) {
      Status durable = sync_folder(holder);
      if (durable) continue;
      ::rmdir(folder.c_str());  // who tries again would find it there and take it for durable
      return durable;
    }
    const int problem = errno;
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) continue;
    return unavailable(
        text_of(path.string(), ": cannot make the folder ", folder.string(), ": ", std::strerror(problem)));
  }
  return {};
}

}  // namespace isobit
