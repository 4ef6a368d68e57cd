#include "isobit/base/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit {
namespace {

std::string reason(int error) { return std::strerror(error); }

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "of an unknown kind";
}

tl::unexpected<Error> not_plain(const fs::path& path, mode_t mode) {
  return unreadable(text_of(path.string(), ": is not a regular file but ", kind_of(mode)));
}

Status write_all(int fd, const fs::path& path, ByteView data) {
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = ::write(fd, data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return unavailable(text_of(path.string(), ": cannot write ", human_bytes(data.size()), ": ",
                                 write_problem(n < 0 ? errno : ENOSPC, "try again")));
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

Expected<std::string> random_name() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    return unavailable("the operating system gives no random bytes");
  }
  ByteWriter bytes;
  bytes.u64(number);
  return to_hex(bytes.view());
}

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

tl::unexpected<Error> exists_already(const fs::path& path) {
  return usage_error(
      text_of(path.string(), ": is there already and is not overwritten; choose another name or remove it"));
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int Descriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

// What it is is asked before it is opened, since opening a device can do things, and again of the open file, which may
// have come in between. O_NONBLOCK: opening a pipe must not wait for its other end.
Expected<PlainFile> PlainFile::open(const fs::path& path, Links links) {
  const bool follow = links == Links::kFollow;
  struct stat info {};
  if ((follow ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info)) != 0) {
    return unreadable(text_of(path.string(), ": cannot open: ", reason(errno)));
  }
  if (!S_ISREG(info.st_mode)) return not_plain(path, info.st_mode);
  PlainFile file;
  file.path_ = path;
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
  file.fd_ = Descriptor(::open(path.c_str(), flags));
  if (!file.fd_) return unreadable(text_of(path.string(), ": cannot open: ", reason(errno)));
  if (::fstat(file.fd_.get(), &info) != 0) return unreadable(text_of(path.string(), ": ", reason(errno)));
  if (!S_ISREG(info.st_mode)) return not_plain(path, info.st_mode);
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Expected<size_t> PlainFile::read_at(uint64_t offset, std::span<uint8_t> buffer) const {
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t n = ::pread(fd_.get(), buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(text_of(path_.string(), ": cannot read: ", reason(errno)));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Status PlainFile::read_exactly(uint64_t offset, std::span<uint8_t> buffer) const {
  ISOBIT_TRY(const size_t got, read_at(offset, buffer));
  if (got == buffer.size()) return {};
  return unreadable(text_of(path_.string(), ": is shorter than it was when it was opened; something is writing it"));
}

Expected<Bytes> read_file(const fs::path& path, uint64_t max_size, Links links) {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(path, links));
  if (file.size() > max_size) {
    return unreadable(text_of(path.string(), ": is ", human_bytes(file.size()), ", more than the ",
                              human_bytes(max_size), " this kind of file may have"));
  }
  Bytes data(static_cast<size_t>(file.size()));
  ISOBIT_RETURN_IF_ERROR(file.read_exactly(0, data));
  uint8_t more = 0;
  ISOBIT_TRY(const size_t behind, file.read_at(data.size(), {&more, 1}));
  if (behind != 0) {
    return unreadable(text_of(path.string(), ": has more than the ", data.size(),
                              " bytes of its size: it is no file on a disk, or something is writing it"));
  }
  return data;
}

Status check_writable_name(const fs::path& path, bool replace) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};  // what else is wrong with the name shows when it is written
  if (!S_ISREG(info.st_mode)) {
    return usage_error(text_of(path.string(), ": is ", kind_of(info.st_mode),
                               "; only a regular file is ever replaced, choose another name"));
  }
  if (!replace) return exists_already(path);
  return {};
}

Status write_file_durably(const fs::path& path, ByteView data, const WriteOptions& options) {
  ISOBIT_RETURN_IF_ERROR(check_writable_name(path, options.replace));
  ISOBIT_TRY(const std::string random, random_name());
  fs::path temporary = path;
  temporary += text_of(".", random, ".tmp");
  struct stat old {};
  const bool keeps_mode = options.replace && ::lstat(path.c_str(), &old) == 0;
  Status written;
  {
    const Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options.mode));
    if (!fd) return unavailable(text_of(temporary.string(), ": cannot create: ", reason(errno)));
    if (keeps_mode && ::fchmod(fd.get(), old.st_mode & 0777) != 0) {
      written = unavailable(text_of(path.string(), ": cannot keep its mode: ", reason(errno)));
    }
    if (written) written = write_all(fd.get(), path, data);
    if (written && ::fsync(fd.get()) != 0) {
      written = unavailable(text_of(path.string(), ": cannot make durable: ", reason(errno)));
    }
  }
  if (written) {
    const bool renamed =
        (options.replace ? ::rename(temporary.c_str(), path.c_str()) : rename_to_new(temporary, path)) == 0;
    if (renamed) return sync_folder(path.parent_path());
    const int error = errno;
    written = error == EEXIST ? Status(exists_already(path))
                              : Status(unavailable(text_of(path.string(), ": cannot replace: ", reason(error))));
  }
  ::unlink(temporary.c_str());
  return written;
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return unavailable(text_of(path.string(), ": cannot make the folder: ", error.message()));
  return {};
}

Status sync_folder(const fs::path& path) {
  const Descriptor fd(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    return unavailable(text_of(path.string(), ": cannot make the folder durable: ", reason(errno)));
  }
  return {};
}

std::string write_problem(int error, std::string_view then) {
  const char* first = error == ENOSPC || error == EDQUOT ? "; free some space and "
                      : error == EFBIG                   ? "; raise the limit on the size of files (ulimit -f) and "
                                                         : "; mend that and ";
  return text_of(reason(error), first, then);
}

}  // namespace isobit
