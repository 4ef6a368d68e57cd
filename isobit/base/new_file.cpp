#include "isobit/base/new_file.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit {

Status check_new_name(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return {};
  return usage_error(text_of(path.string(),
                             ": is there already and is not overwritten; choose another name or remove "
                             "it"));
}

// Unlike rename(2), link(2) fails where there is something already.
Status create_file_durably(const fs::path& path, ByteView data, mode_t mode) {
  ISOBIT_RETURN_IF_ERROR(check_new_name(path));
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    return unavailable("the operating system gives no random bytes");
  }
  fs::path temporary = path;
  temporary += text_of(".", number);
  ISOBIT_RETURN_IF_ERROR(write_file_durably(temporary, data));
  Status done;
  if (mode != 0644 && ::chmod(temporary.c_str(), mode) != 0) {
    done = unavailable(text_of(path.string(), ": cannot set who may read it: ", std::strerror(errno)));
  } else if (::link(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    done = error == EEXIST ? check_new_name(path)
                           : unavailable(text_of(path.string(), ": cannot create: ", std::strerror(error)));
  }
  ::unlink(temporary.c_str());
  if (!done) return done;
  return sync_folder(path.parent_path());
}

}  // namespace isobit
