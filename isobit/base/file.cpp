#include "isobit/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit {
namespace {

std::string reason(int error) { return std::strerror(error); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status write_all(int fd, const fs::path& path, ByteView data) {
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = ::write(fd, data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return unavailable(text_of(path.string(), ": cannot write ", human_bytes(data.size()), ": ",
                                 reason(n < 0 ? errno : ENOSPC), "; free some space and try again"));
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

Expected<Bytes> read_file(const fs::path& path, uint64_t max_size) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return unreadable(text_of(path.string(), ": cannot open: ", reason(errno)));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return unreadable(text_of(path.string(), ": ", reason(errno)));
  if (!S_ISREG(info.st_mode)) return unreadable(text_of(path.string(), ": is not a regular file"));
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > max_size) {
    return unreadable(text_of(path.string(), ": is ", human_bytes(size), ", more than the ", human_bytes(max_size),
                              " this kind of file may have"));
  }
  Bytes data(static_cast<size_t>(size));
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = ::read(fd.get(), data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(text_of(path.string(), ": cannot read: ", reason(errno)));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  data.resize(done);
  return data;
}

Status write_file_durably(const fs::path& path, ByteView data) {
  fs::path temporary = path;
  temporary += ".tmp";
  {
    Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) return unavailable(text_of(temporary.string(), ": cannot create: ", reason(errno)));
    Status written = write_all(fd.get(), path, data);
    if (written && ::fsync(fd.get()) != 0) {
      written = unavailable(text_of(path.string(), ": cannot make durable: ", reason(errno)));
    }
    if (!written) {
      ::unlink(temporary.c_str());
      return written;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return unavailable(text_of(path.string(), ": cannot replace: ", reason(error)));
  }
  return sync_folder(path.parent_path());
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return unavailable(text_of(path.string(), ": cannot make the folder: ", error.message()));
  return {};
}

Status sync_folder(const fs::path& path) {
  Descriptor fd(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) {
    return unavailable(text_of(path.string(), ": cannot make the folder durable: ", reason(errno)));
  }
  return {};
}

}  // namespace isobit
