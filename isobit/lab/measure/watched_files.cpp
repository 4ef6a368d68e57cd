#include "isobit/lab/measure/watched_files.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::lab::measure {
namespace {

tl::unexpected<Error> changed(const fs::path& path) {
  return unreadable(text_of(path.string(), ": was changed while it was measured; what was measured since then is not ",
                            "kept; leave the file alone and measure it again"));
}

}  // namespace

Expected<commit::Digest> WatchedFiles::add(const fs::path& path) {
  std::error_code error;
  Watched file{fs::absolute(path, error), {}, {}};
  if (error) return unavailable(text_of(path.string(), ": ", error.message()));
  const auto identity = FileIdentity::of(file.path, Links::kFollow);
  // Hashing says best what is wrong with a file that cannot be read.
  ISOBIT_TRY(file.digest, sha256_of_file(path));
  if (!identity) return tl::unexpected<Error>(identity.error());
  if (!*identity) return changed(path);
  file.identity = **identity;
  files_.push_back(std::move(file));
  return files_.back().digest;
}

Status WatchedFiles::check_same() const {
  for (const Watched& file : files_) {
    const auto now = FileIdentity::of(file.path, Links::kFollow);
    if (!now || *now != file.identity) return changed(file.path);
  }
  return {};
}

Status WatchedFiles::check_bytes() const {
  for (const Watched& file : files_) {
    const auto now = sha256_of_file(file.path);
    if (now && *now == file.digest) continue;
    ISOBIT_RETURN_IF_ERROR(check_same());
    return unreadable(text_of(file.path.string(),
                              ": was changed while it was measured and its times do not show when; ",
                              "what was recorded may be of either: measure it again, into a new lab"));
  }
  return check_same();
}

Expected<commit::Digest> sha256_of_file(const fs::path& path) {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(path, Links::kFollow));
  commit::Sha256 hash;
  std::vector<uint8_t> buffer(1 << 20);
  for (uint64_t at = 0; at < file.size();) {
    const uint64_t n = std::min<uint64_t>(buffer.size(), file.size() - at);
    ISOBIT_RETURN_IF_ERROR(file.read_exactly(at, std::span(buffer).first(n)));
    hash.update({buffer.data(), n});
    at += n;
  }
  ISOBIT_RETURN_IF_ERROR(file.check_unchanged());
  return hash.digest();
}

}  // namespace isobit::lab::measure
