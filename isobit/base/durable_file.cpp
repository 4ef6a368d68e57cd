#include "isobit/base/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "isobit/base/random.h"
#include "isobit/base/text.h"

namespace isobit {
namespace {

std::string cause(int error) { return std::strerror(error); }

// Like rename(2), but fails with EEXIST where rename would replace. File systems that cannot do that in one call can
// make links, or cannot do it at all.
int rename_to_new(const fs::path& from, const fs::path& to) {
#ifdef SYS_renameat2
  constexpr unsigned kNoReplace = 1;
  if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), kNoReplace) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
  if (::link(from.c_str(), to.c_str()) != 0) return -1;
  ::unlink(from.c_str());
  return 0;
}

}  // namespace

Status rename_durably(const fs::path& from, const fs::path& to) {
  if (rename_to_new(from, to) != 0) {
    const int error = errno;
    if (error == EEXIST) {
      return usage_error(text_of(to.string(), ": was made meanwhile and is not overwritten; choose another name"));
    }
    return unavailable(text_of(to.string(), ": cannot make it: ", cause(error)));
  }
  return sync_folder(to.parent_path());
}

Expected<std::string> random_name() {
  std::array<uint8_t, 8> bytes{};
  ISOBIT_RETURN_IF_ERROR(fill_random(bytes));
  return to_hex(bytes);
}

Expected<DurableFile> DurableFile::create(const fs::path& path, const WriteOptions& options) {
  ISOBIT_RETURN_IF_ERROR(check_writable_name(path, options.replace));
  ISOBIT_TRY(const std::string random, random_name());
  DurableFile file;
  file.path_ = path;
  file.replace_ = options.replace;
  fs::path temporary = path;
  temporary += text_of(".", random, ".tmp");
  struct stat old {};
  const bool keeps_mode = options.replace && ::lstat(path.c_str(), &old) == 0;
  file.fd_ = Descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options.mode));
  if (!file.fd_) return unavailable(text_of(temporary.string(), ": cannot create: ", cause(errno)));
  file.temporary_ = temporary;
  if (keeps_mode && ::fchmod(file.fd_.get(), old.st_mode & 0777) != 0) {
    return unavailable(text_of(path.string(), ": cannot keep its mode: ", cause(errno)));
  }
  return file;
}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      replace_(other.replace_),
      fd_(std::move(other.fd_)) {
  other.temporary_.clear();  // a moved path need not be empty
}

DurableFile::~DurableFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status DurableFile::append(ByteView data) {
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = ::write(fd_.get(), data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return unavailable(text_of(path_.string(), ": cannot write ", human_bytes(data.size()), ": ",
                                 write_problem(n < 0 ? errno : ENOSPC, "try again")));
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

Status DurableFile::commit() {
  if (::fsync(fd_.get()) != 0) {
    return unavailable(text_of(path_.string(), ": cannot make durable: ", cause(errno)));
  }
  fd_.close();
  if (!replace_) {
    ISOBIT_RETURN_IF_ERROR(rename_durably(temporary_, path_));
    temporary_.clear();
    return {};
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return unavailable(text_of(path_.string(), ": cannot replace: ", cause(errno)));
  }
  temporary_.clear();
  return sync_folder(path_.parent_path());
}

}  // namespace isobit
