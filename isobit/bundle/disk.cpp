#include "isobit/bundle/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"

namespace isobit::bundle {
namespace {

// One entry is a name of at most 255 bytes; a folder with more than this is no bundle.
constexpr size_t kMaxEntries = kMaxCheckpoints + 64;

std::string reason(int error) { return std::strerror(error); }

// `prefix` is "", "checkpoints/" or "log/".
Status list_folder(const fs::path& folder, const std::string& prefix, Listing& listing) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), &::closedir);
  if (!dir) return cannot("open the folder", folder, errno);
  for (size_t count = 0;; ++count) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0) return cannot("read the folder", folder, errno);
    if (entry == nullptr) return {};
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (count > kMaxEntries) {
      const std::string found = text_of(folder.string(), ": has more than ", kMaxEntries, " files, too many for a run");
      return prefix.empty() ? unreadable(found) : rejected(found);
    }
    const fs::path path = folder / name;
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
      if (errno == ENOENT) continue;  // gone in the meantime
      return cannot("look at", path, errno);
    }
    if (S_ISREG(info.st_mode)) {
      listing.files[prefix + name] = static_cast<uint64_t>(info.st_size);
    } else if (S_ISDIR(info.st_mode) && prefix.empty() && (name == kCheckpointFolder || name == kLogFolder)) {
      listing.log_folder |= name == kLogFolder;
      ISOBIT_RETURN_IF_ERROR(list_folder(path, name + "/", listing));
    } else if (listing.odd.empty()) {
      listing.odd = prefix + name;
    }
  }
}

}  // namespace

Expected<ReadFile> ReadFile::open(const fs::path& path, Links links) {
  ISOBIT_TRY(PlainFile file, PlainFile::open(path, links));
  return ReadFile(std::move(file));
}

namespace {

Expected<ReadFile> open_within(const fs::path& path, uint64_t max_size) {
  ISOBIT_TRY(ReadFile file, ReadFile::open(path));
  if (file.size() > max_size) {
    return unreadable(text_of(path.string(), ": is ", human_bytes(file.size()), ", more than the ",
                              human_bytes(max_size), " this file may have"));
  }
  return file;
}

}  // namespace

Expected<Bytes> read_plain_file(const fs::path& path, uint64_t max_size) {
  ISOBIT_TRY(const ReadFile file, open_within(path, max_size));
  Bytes data(static_cast<size_t>(file.size()));
  ISOBIT_TRY(const size_t size, file.read_at(0, data));
  data.resize(size);
  return data;
}

Expected<FileEntry> digest_of_file(const fs::path& path, uint64_t max_size) {
  ISOBIT_TRY(const ReadFile file, open_within(path, max_size));
  return digest_of_file(file);
}

Expected<FileEntry> digest_of_file(const ReadFile& file) {
  Bytes buffer(1 << 20);
  commit::Sha256 hash;
  FileEntry entry;
  while (entry.size < file.size()) {  // what is appended meanwhile is not waited for
    const auto want = static_cast<size_t>(std::min<uint64_t>(buffer.size(), file.size() - entry.size));
    ISOBIT_TRY(const size_t size, file.read_at(entry.size, std::span(buffer).first(want)));
    hash.update(ByteView(buffer).first(size));
    entry.size += size;
    if (size < want) break;
  }
  entry.sha256 = hash.digest();
  return entry;
}

FileEntry entry_of(ByteView data) { return {data.size(), commit::sha256(data)}; }

FileEntry entry_of(std::span<const ByteView> pieces) {
  FileEntry entry;
  commit::Sha256 hash;
  for (const ByteView piece : pieces) {
    hash.update(piece);
    entry.size += piece.size();
  }
  entry.sha256 = hash.digest();
  return entry;
}

Expected<Listing> list_bundle(const fs::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return cannot("look at the folder", folder, errno);
    return unreadable(text_of(folder.string(), ": ", reason(errno), "; expected the folder of a run"));
  }
  if (!S_ISDIR(info.st_mode)) {
    return unreadable(text_of(folder.string(), ": is not a folder; expected the folder of a run"));
  }
  Listing listing;
  ISOBIT_RETURN_IF_ERROR(list_folder(folder, "", listing));
  return listing;
}

bool is_temporary(const std::string& path) { return path.ends_with(".tmp"); }

Status check_outside_runs(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, error).lexically_normal(), error);
  if (error) return {};  // what is wrong with the name shows when it is written
  for (fs::path folder = whole.parent_path();; folder = folder.parent_path()) {
    const auto has = [&](std::string_view name) { return fs::is_regular_file(folder / name, error); };
    if (has(kEngagementFile) && (has(kTranscriptFile) || has(kManifestFile))) {
      return usage_error(text_of(path.string(), ": lies in the run ", folder.string(),
                                 ", which holds nothing but what its trainer signed for; choose another folder"));
    }
    if (folder == folder.parent_path()) return {};
  }
}

Status check_outside_coming_run(const fs::path& path, const fs::path& run) {
  std::error_code ignored;
  const auto whole = [&](const fs::path& p) {
    return fs::weakly_canonical(fs::absolute(p, ignored).lexically_normal(), ignored);
  };
  const fs::path file = whole(path);
  fs::path folder = whole(run);
  if (!folder.has_filename()) folder = folder.parent_path();
  if (std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first != folder.end()) return {};
  return usage_error(text_of(path.string(), ": lies in ", run.string(),
                             ", which will hold nothing but what is signed for; choose another folder"));
}

Expected<AppendFile> AppendFile::open(const fs::path& path, uint64_t size) {
  AppendFile file;
  file.path_ = path;
  file.fd_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.fd_) return unavailable(text_of(path.string(), ": cannot open for writing: ", reason(errno)));
  struct stat info {};
  if (::fstat(file.fd_.get(), &info) != 0) return unavailable(text_of(path.string(), ": ", reason(errno)));
  if (!S_ISREG(info.st_mode)) return unreadable(text_of(path.string(), ": is not a plain file"));
  file.size_ = size;
  // What another process wrote before it was killed may not be on the disk yet.
  file.dirty_ = true;
  if (static_cast<uint64_t>(info.st_size) != size) {
    if (::ftruncate(file.fd_.get(), static_cast<off_t>(size)) != 0) {
      return unavailable(text_of(path.string(), ": cannot cut off a torn record: ", reason(errno)));
    }
    ISOBIT_RETURN_IF_ERROR(file.sync());
  }
  return file;
}

Status AppendFile::write_at(uint64_t offset, ByteView data) {
  size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = ::pwrite(fd_.get(), data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return unavailable(reason(n < 0 ? errno : ENOSPC));
    done += static_cast<size_t>(n);
  }
  return {};
}

Status AppendFile::append(ByteView first, ByteView second) {
  if (lost_) return sync();
  const size_t bytes = first.size() + second.size();
  dirty_ = true;
  Status written = write_at(size_, first);
  if (written) written = write_at(size_ + first.size(), second);
  if (!written) {
    // A half-written record would be dropped by the next resume anyway; do not leave it to that.
    if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) lost_ = true;
    return unavailable(text_of(path_.string(), ": cannot append ", bytes, " bytes: ", written.error().message,
                               "; free some space and resume the run, what was written before is safe"));
  }
  size_ += bytes;
  return {};
}

Status AppendFile::cut(uint64_t size) {
  if (lost_) return sync();
  ISOBIT_CHECK(size <= size_);
  dirty_ = true;
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
    return unavailable(text_of(path_.string(), ": cannot cut off the last record: ", reason(errno)));
  }
  size_ = size;
  return {};
}

Status AppendFile::sync() {
  if (!lost_ && dirty_ && ::fsync(fd_.get()) != 0) lost_ = true;
  if (lost_) {
    return unavailable(text_of(path_.string(),
                               ": cannot make the last records durable: the disk failed; check it "
                               "and resume the run"));
  }
  dirty_ = false;
  return {};
}

Expected<Descriptor> lock_bundle(const fs::path& folder) {
  const fs::path path = folder / kLockFile;
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!fd) {
    return unavailable(text_of(path.string(), ": cannot create: ", reason(errno), "; the folder must be writable"));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return usage_error(text_of(folder.string(), ": another process is writing this run; wait for it or stop it"));
    }
    return unavailable(text_of(path.string(), ": cannot lock: ", reason(errno)));
  }
  return fd;
}

Status remove_file(const fs::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return unavailable(text_of(path.string(), ": cannot remove: ", reason(errno)));
  }
  return {};
}

}  // namespace isobit::bundle
