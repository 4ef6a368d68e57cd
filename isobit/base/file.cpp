#include "isobit/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isobit/base/durable_file.h"
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

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

tl::unexpected<Error> not_plain(const fs::path& path, mode_t mode) {
  return unreadable(text_of(path.string(), ": is not a regular file but ", kind_of(mode)));
}

// Whether the name or what stands there is wrong. Anything else, as no permission, no descriptor left, a failing disk,
// is this machine's, and whoever wrote the file is not to be blamed for it.
bool is_of_the_file(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG || error == ENXIO ||
         error == EISDIR;
}

}  // namespace

tl::unexpected<Error> cannot(std::string_view what, const fs::path& path, int error) {
  const std::string said = text_of(path.string(), ": cannot ", what, ": ", reason(error));
  if (is_of_the_file(error)) return unreadable(said);
  return unavailable(text_of(said, "; see to it that this machine can read it, and try again"));
}

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
    return cannot("open", path, errno);
  }
  if (!S_ISREG(info.st_mode)) return not_plain(path, info.st_mode);
  PlainFile file;
  file.path_ = path;
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
  file.fd_ = Descriptor(::open(path.c_str(), flags));
  if (!file.fd_) return cannot("open", path, errno);
  if (::fstat(file.fd_.get(), &info) != 0) return cannot("open", path, errno);
  if (!S_ISREG(info.st_mode)) return not_plain(path, info.st_mode);
  file.size_ = static_cast<uint64_t>(info.st_size);
  file.written_ = info.st_mtim;
  file.noted_ = info.st_ctim;
  return file;
}

// Who writes to a file can set the time of its contents back (utimensat), but that is noted, and nobody sets that time.
Status PlainFile::check_unchanged() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return cannot("read", path_, errno);
  const bool same = static_cast<uint64_t>(info.st_size) == size_ && same_time(info.st_mtim, written_) &&
                    (same_time(info.st_ctim, noted_) || info.st_nlink == 0);
  if (same) return {};
  return unreadable(text_of(path_.string(), ": has changed since it was opened; something is writing it"));
}

Expected<size_t> PlainFile::read_at(uint64_t offset, std::span<uint8_t> buffer) const {
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t n = ::pread(fd_.get(), buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("read", path_, errno);
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
  if (!replace) {
    return usage_error(
        text_of(path.string(), ": is there already and is not overwritten; choose another name or remove it"));
  }
  return {};
}

Status write_file_durably(const fs::path& path, ByteView data, const WriteOptions& options) {
  ISOBIT_TRY(DurableFile file, DurableFile::create(path, options));
  ISOBIT_RETURN_IF_ERROR(file.append(data));
  return file.commit();
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return unavailable(text_of(path.string(), ": cannot make the folder: ", error.message()));
  return {};
}

Status sync_folder(const fs::path& path) {
  const std::string name = path.empty() ? "." : path.string();  // what holds a relative name
  const Descriptor fd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    return unavailable(text_of(name, ": cannot make the folder durable: ", reason(errno)));
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
