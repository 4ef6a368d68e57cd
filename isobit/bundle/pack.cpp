#include "isobit/bundle/pack.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "isobit/base/durable_file.h"
#include "isobit/base/text.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/parts_internal.h"
#include "isobit/bundle/tar.h"

namespace isobit::bundle {
namespace {

// The four of rank() below, transcript, heads and log.
constexpr size_t kMaxEntries = kMaxCheckpoints + 7;
constexpr size_t kEndBlocks = 2;
constexpr size_t kPiece = 1 << 20;

// First what the rest is checked with, then by name.
int rank(std::string_view name) {
  if (name == kEngagementFile) return 0;
  if (name == kManifestFile) return 1;
  if (name == kManifestSignatureFile) return 2;
  return name == kJobFile ? 3 : 4;
}

bool comes_before(std::string_view a, std::string_view b) { return rank(a) != rank(b) ? rank(a) < rank(b) : a < b; }

bool belongs(std::string_view name) {
  return is_bundle_file(name) || name == kManifestFile || name == kManifestSignatureFile;
}

Expected<TarEntry> header_at(const ByteSource& file, uint64_t offset, const std::string& what) {
  TarHeader block;
  ISOBIT_TRY(const size_t got, file.read_at(offset, block));
  return decode_tar_header(ByteView(block).first(got), text_of(what, ": at byte ", offset));
}

Status check_zeros(const ByteSource& file, uint64_t offset, size_t size, const std::string& what) {
  std::array<uint8_t, kEndBlocks * kTarBlock> bytes;
  ISOBIT_TRY(const size_t got, file.read_at(offset, std::span(bytes).first(size)));
  const auto is_zero = [](uint8_t byte) { return byte == 0; };
  if (got == size && std::ranges::all_of(std::span(bytes).first(size), is_zero)) return {};
  return unreadable(text_of(what, ": at byte ", offset, ": expected ", size, " zeros"));
}

// Of every file that a packed run has: what the manifest says, and of itself and its signature what was checked.
Expected<Manifest> all_files(Manifest manifest, ByteView text, ByteView signature, const fs::path& pack) {
  for (const auto& [name, entry] : manifest.files) {
    if (is_bundle_file(name)) continue;
    return rejected(text_of(name_in(pack, kManifestFile), ": lists '", name, "', which no run has"));
  }
  manifest.files[std::string(kManifestFile)] = entry_of(text);
  manifest.files[std::string(kManifestSignatureFile)] = entry_of(signature);
  return manifest;
}

// Names and sizes, before anything is written.
Status check_entries(const std::vector<PackEntry>& entries, const Manifest& files, const fs::path& pack) {
  for (const PackEntry& entry : entries) {
    const auto found = files.files.find(entry.name);
    if (found == files.files.end()) return rejected(text_of(name_in(pack, entry.name), ": is not in the manifest"));
    if (found->second.size == entry.size) continue;
    return rejected(
        text_of(name_in(pack, entry.name), ": has ", entry.size, " bytes, the manifest says ", found->second.size));
  }
  if (entries.size() == files.files.size()) return {};  // no name comes twice
  return rejected(text_of(name_in(pack, kManifestFile), ": lists files that are not there: has ", entries.size(),
                          ", expected ", files.files.size()));
}

Expected<Bytes> small_file(const ByteSource& file, const PackEntry& entry, std::string_view name, uint64_t most,
                           const fs::path& pack) {
  if (entry.name != name) {
    return unreadable(text_of(pack.string(), ": has '", entry.name, "' where '", name, "' belongs"));
  }
  if (entry.size > most) {
    return rejected(text_of(name_in(pack, name), ": is ", human_bytes(entry.size), ", more than the ",
                            human_bytes(most), " this file may have"));
  }
  Bytes bytes(static_cast<size_t>(entry.size));
  ISOBIT_TRY(const size_t got, file.read_at(entry.offset, bytes));
  if (got != bytes.size()) return unreadable(text_of(pack.string(), ": is cut short; something is writing it"));
  return bytes;
}

// Copies from `offset` on and gives what was copied.
Expected<FileEntry> copy(const ByteSource& from, uint64_t offset, uint64_t size, DurableFile& to,
                         const std::string& what, StopFlag stop) {
  Bytes buffer(static_cast<size_t>(std::min<uint64_t>(size, kPiece)));
  commit::Sha256 hash;
  for (uint64_t done = 0; done < size;) {
    if (stop != nullptr && stop->load()) return unavailable(text_of(what, ": stopped; nothing was written"));
    const auto piece = std::span(buffer).first(static_cast<size_t>(std::min<uint64_t>(size - done, kPiece)));
    ISOBIT_TRY(const size_t got, from.read_at(offset + done, piece));
    if (got != piece.size()) return unreadable(text_of(what, ": is cut short; something is writing it"));
    hash.update(piece);
    ISOBIT_RETURN_IF_ERROR(to.append(piece));
    done += got;
  }
  return FileEntry{size, hash.digest()};
}

Status append_file(DurableFile& out, std::string_view name, ByteView contents) {
  ISOBIT_RETURN_IF_ERROR(out.append(tar_header(name, contents.size())));
  ISOBIT_RETURN_IF_ERROR(out.append(contents));
  return out.append(Bytes(tar_padding(contents.size())));
}

Status append_file(DurableFile& out, const std::string& name, const fs::path& folder, const Manifest& manifest,
                   StopFlag stop) {
  ISOBIT_TRY(const ReadFile file, ReadFile::open(folder / name));
  const uint64_t size = manifest.files.at(name).size;
  ISOBIT_RETURN_IF_ERROR(out.append(tar_header(name, size)));
  ISOBIT_TRY(const FileEntry found, copy(file, 0, size, out, name_in(folder, name), stop));
  ISOBIT_RETURN_IF_ERROR(check_entry(folder, name, found, manifest));
  return out.append(Bytes(tar_padding(size)));
}

// A folder that goes again, with all that is in it, unless it gets its name.
class NewFolder {
 public:
  static Expected<NewFolder> make(const fs::path& name) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(name, error))) {
      return usage_error(text_of(name.string(), ": is there already; choose another --out"));
    }
    ISOBIT_TRY(const std::string random, random_name());
    NewFolder folder;
    folder.name_ = name;
    fs::path temporary = name;
    temporary += text_of(".", random, ".tmp");
    if (::mkdir(temporary.c_str(), 0777) != 0) {
      return unavailable(text_of(temporary.string(), ": cannot make the folder: ", std::strerror(errno)));
    }
    folder.temporary_ = std::move(temporary);
    return folder;
  }
  NewFolder(NewFolder&& other) noexcept : name_(std::move(other.name_)), temporary_(std::move(other.temporary_)) {
    other.temporary_.clear();
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }
  const fs::path& path() const { return temporary_; }
  // Replaces nothing but, at most, an empty folder that was made meanwhile.
  Status take_name() {
    ISOBIT_RETURN_IF_ERROR(sync_folder(temporary_));
    if (::rename(temporary_.c_str(), name_.c_str()) != 0) {
      return unavailable(text_of(name_.string(), ": cannot take this name: ", std::strerror(errno)));
    }
    temporary_.clear();
    return sync_folder(name_.parent_path());
  }

 private:
  NewFolder() = default;
  fs::path name_, temporary_;
};

Status extract(const ByteSource& file, const PackEntry& entry, const fs::path& folder, const Manifest& files,
               const fs::path& pack, StopFlag stop) {
  const fs::path path = folder / entry.name;
  ISOBIT_RETURN_IF_ERROR(make_folder(path.parent_path()));
  ISOBIT_TRY(DurableFile out, DurableFile::create(path, {.replace = false}));
  ISOBIT_TRY(const FileEntry found, copy(file, entry.offset, entry.size, out, pack.string(), stop));
  ISOBIT_RETURN_IF_ERROR(check_entry(pack, entry.name, found, files));
  return out.commit();
}

}  // namespace

Expected<std::vector<PackEntry>> list_pack(const ByteSource& file, const std::string& what) {
  constexpr uint64_t kEnd = kEndBlocks * kTarBlock;
  if (file.size() < kEnd || file.size() % kTarBlock != 0) {
    return unreadable(text_of(what, ": has ", file.size(), " bytes, no multiple of ", kTarBlock,
                              ": it is no packed run, or cut short"));
  }
  std::vector<PackEntry> entries;
  uint64_t at = 0;
  while (at < file.size() - kEnd) {
    ISOBIT_TRY(TarEntry header, header_at(file, at, what));
    const std::string entry = text_of(what, ": '", header.name, "'");
    if (!belongs(header.name)) return unreadable(text_of(entry, ": no finished run has such a file"));
    if (entries.size() == kMaxEntries) return unreadable(text_of(what, ": has more than ", kMaxEntries, " files"));
    if (!entries.empty() && !comes_before(entries.back().name, header.name)) {
      return unreadable(text_of(entry, ": comes after '", entries.back().name, "', out of order"));
    }
    at += kTarBlock;
    const uint64_t left = file.size() - kEnd - at;  // a multiple of a block, so the padding fits when the contents do
    if (header.size > left) {
      return unreadable(text_of(entry, ": claims ", header.size, " bytes, ", left, " are left; the file is cut short"));
    }
    ISOBIT_RETURN_IF_ERROR(check_zeros(file, at + header.size, tar_padding(header.size), what));
    entries.push_back({std::move(header.name), at, header.size});
    at += header.size + tar_padding(header.size);
  }
  ISOBIT_RETURN_IF_ERROR(check_zeros(file, at, kEnd, what));
  return entries;
}

Expected<PackSummary> pack_run(const fs::path& folder, const fs::path& out, bool replace, const OpenOptions& options,
                               StopFlag stop) {
  ISOBIT_RETURN_IF_ERROR(check_outside_runs(out));
  ISOBIT_TRY(const BundleFront front, BundleFront::open(folder, options));
  if (!front.finished()) return unreadable(text_of(folder.string(), ": the run is unfinished; resume it first"));
  const Bytes engagement = verify::encode(front.engagement());
  const Bytes manifest = encode(*front.manifest());
  ISOBIT_TRY(const Bytes signature, read_plain_file(folder / kManifestSignatureFile, verify::kMaxEngagementBytes));
  // Once more, of the bytes that are packed.
  ISOBIT_TRY(const SignedFront checked, open_signed_front(folder, engagement, manifest, signature, options));
  ISOBIT_RETURN_IF_ERROR(check_entry(folder, kEngagementFile, entry_of(engagement), checked.manifest));
  ISOBIT_TRY(DurableFile file, DurableFile::create(out, {.replace = replace}));
  ISOBIT_RETURN_IF_ERROR(append_file(file, kEngagementFile, engagement));
  ISOBIT_RETURN_IF_ERROR(append_file(file, kManifestFile, manifest));
  ISOBIT_RETURN_IF_ERROR(append_file(file, kManifestSignatureFile, signature));
  ISOBIT_RETURN_IF_ERROR(append_file(file, std::string(kJobFile), folder, checked.manifest, stop));
  for (const auto& [name, entry] : checked.manifest.files) {
    if (rank(name) == 4) ISOBIT_RETURN_IF_ERROR(append_file(file, name, folder, checked.manifest, stop));
  }
  ISOBIT_RETURN_IF_ERROR(file.append(Bytes(kEndBlocks * kTarBlock)));
  ISOBIT_RETURN_IF_ERROR(file.commit());
  std::error_code ignored;
  return PackSummary{checked.manifest, fs::file_size(out, ignored)};
}

Expected<PackSummary> unpack_run(const fs::path& pack, const fs::path& out, const OpenOptions& options, StopFlag stop) {
  ISOBIT_RETURN_IF_ERROR(check_outside_runs(out));
  ISOBIT_TRY(const ReadFile file, ReadFile::open(pack, Links::kFollow));
  ISOBIT_TRY(const std::vector<PackEntry> entries, list_pack(file, pack.string()));
  if (entries.size() < 4) return unreadable(text_of(pack.string(), ": has ", entries.size(), " files, no whole run"));
  ISOBIT_TRY(const Bytes engagement, small_file(file, entries[0], kEngagementFile, verify::kMaxEngagementBytes, pack));
  ISOBIT_TRY(const Bytes manifest, small_file(file, entries[1], kManifestFile, kMaxManifestBytes, pack));
  ISOBIT_TRY(const Bytes signature,
             small_file(file, entries[2], kManifestSignatureFile, verify::kMaxEngagementBytes, pack));
  ISOBIT_TRY(const SignedFront front, open_signed_front(pack, engagement, manifest, signature, options));
  ISOBIT_TRY(const Manifest files, all_files(front.manifest, manifest, signature, pack));
  ISOBIT_RETURN_IF_ERROR(check_entries(entries, files, pack));
  ISOBIT_TRY(NewFolder folder, NewFolder::make(out));
  for (const PackEntry& entry : entries) {
    ISOBIT_RETURN_IF_ERROR(extract(file, entry, folder.path(), files, pack, stop));
  }
  ISOBIT_RETURN_IF_ERROR(folder.take_name());
  return PackSummary{front.manifest, file.size()};
}

}  // namespace isobit::bundle
