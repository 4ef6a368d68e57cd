#include "isobit/base/file_identity.h"

#include <sys/stat.h>

#include <cerrno>

namespace isobit {
namespace {

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

Expected<std::optional<FileIdentity>> FileIdentity::of(const fs::path& path, Links links) {
  struct stat found {};
  if ((links == Links::kFollow ? ::stat(path.c_str(), &found) : ::lstat(path.c_str(), &found)) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return cannot("look at", path, errno);
  }
  return FileIdentity{found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtim, found.st_ctim};
}

bool FileIdentity::operator==(const FileIdentity& other) const {
  return device == other.device && inode == other.inode && mode == other.mode && size == other.size &&
         same(written, other.written) && same(noted, other.noted);
}

bool FileIdentity::is_plain() const { return S_ISREG(mode); }

}  // namespace isobit
