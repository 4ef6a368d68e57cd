// Whole files in and out. Readers open plain files only and never wait for one: a name that comes from somebody else's
// job may be that of a pipe or a device. Writers never leave half a file: temporary, fsync, rename, fsync of the
// folder.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <filesystem>
#include <span>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit {

namespace fs = std::filesystem;

// An open file of the system, which closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int release();
  int fd_ = -1;
};

// Whether the last part of a path may be a symbolic link: of one's own files that is ordinary; of what somebody else
// laid out it may lead anywhere.
enum class Links { kFollow, kRefuse };

// A plain file, open for reading. Several threads may read from it at a time.
class PlainFile {
 public:
  // kUnreadable, with what it is instead, unless it is a regular file (or a link to one, as `links` allows);
  // kUnavailable where this machine cannot open it (no permission, no descriptor left, a failing disk). Opens no pipe,
  // socket, device or folder, and does not block.
  static Expected<PlainFile> open(const fs::path& path, Links links);
  uint64_t size() const { return size_; }  // when it was opened
  // Fills as much of `buffer` as there is from `offset` on. kUnavailable: the disk failed.
  Expected<size_t> read_at(uint64_t offset, std::span<uint8_t> buffer) const;
  // Exactly `buffer`, or kUnreadable "is shorter than it was when it was opened".
  Status read_exactly(uint64_t offset, std::span<uint8_t> buffer) const;
  // kUnreadable when its size, or the time of the last change of its contents or of what is noted of it (mode, links,
  // times), is another than when it was opened. What was read before is what was there at the opening where this finds
  // nothing, as far as the clock of the file system tells two changes apart. A file that has lost its last name, as
  // where another was moved over it, is noted as changed by that alone, which is no error.
  Status check_unchanged() const;

 private:
  fs::path path_;
  Descriptor fd_;
  uint64_t size_ = 0;
  timespec written_{}, noted_{};  // of its contents, and of what is noted of it (mtime, ctime), when it was opened
};

// The error of a system call on something that is to be read: "PATH: cannot WHAT: reason". kUnreadable where it says
// something of the file (there is none, it is no file), kUnavailable where it says something of this machine only.
tl::unexpected<Error> cannot(std::string_view what, const fs::path& path, int error);

// The whole of a file that must not change meanwhile. kUnreadable when it is missing, no plain file, larger than
// max_size (nothing is read or allocated then), or has not the size that its folder says, as files of /proc.
Expected<Bytes> read_file(const fs::path& path, uint64_t max_size, Links links = Links::kFollow);

struct WriteOptions {
  bool replace = true;  // a regular file of that name; never anything else, and never through a link
  mode_t mode = 0644;   // of a new file, less the umask; who replaces one keeps its mode
};

// Makes the file `path` in one step and durable: another process sees the old content or the new. The temporary has a
// name of its own ("NAME.<16 hex digits>.tmp"), so two writers do not meet. kUsage when there is something of that name
// that must not be replaced; kUnavailable with what is needed when the disk is full or the folder cannot be written. In
// each case what was there is untouched.
Status write_file_durably(const fs::path& path, ByteView data, const WriteOptions& options = {});

// kUsage when `path` holds what write_file_durably would refuse to replace: to be asked before a long computation.
Status check_writable_name(const fs::path& path, bool replace);

// mkdir -p. kUnavailable when it cannot be made.
Status make_folder(const fs::path& path);

Status sync_folder(const fs::path& path);

// What an errno of write(2) means and what to do: "No space left on device; free some space and " + then.
std::string write_problem(int error, std::string_view then);

}  // namespace isobit
