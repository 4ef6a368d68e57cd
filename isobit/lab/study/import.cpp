#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "isobit/base/text.h"
#include "isobit/lab/study/study.h"

namespace isobit::lab::study {
namespace {

constexpr const char* kArchives[] = {".tar", ".tar.zst", ".tar.gz", ".tar.xz", ".tgz"};
constexpr int kMaxDepth = 8;  // of folders

using Files = std::map<std::string, Bytes>;  // by path

tl::unexpected<Error> too_many(const std::string& path) {
  return unreadable(text_of(path, ": more than ", kMaxRecords, " records or ", human_bytes(kMaxBytes), " of them"));
}

Status add(Files& files, uint64_t& total, const std::string& path, Bytes bytes) {
  total += bytes.size();
  if (total > kMaxBytes || files.size() >= kMaxRecords) return too_many(path);
  if (!files.emplace(path, std::move(bytes)).second) return unreadable(text_of(path, ": there twice"));
  return {};
}

Expected<Files> read_folder(const fs::path& folder) {
  Files files;
  uint64_t total = 0;
  ISOBIT_TRY(const std::vector<fs::path> paths, record_files(folder));
  for (const fs::path& path : paths) {
    ISOBIT_TRY(Bytes bytes, read_file(path, kMaxRecord));
    ISOBIT_RETURN_IF_ERROR(add(files, total, path.string(), std::move(bytes)));
  }
  return files;
}

Expected<Files> read_archive(const fs::path& path) {
  ISOBIT_RETURN_IF_ERROR(PlainFile::open(path, Links::kFollow).map([](auto&&) {}));
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(), &archive_read_free);
  archive* a = reader.get();
  archive_read_support_format_tar(a);
  archive_read_support_filter_zstd(a);
  archive_read_support_filter_gzip(a);
  archive_read_support_filter_xz(a);
  const auto damaged = [&] {
    const char* why = archive_error_string(a);
    return unreadable(text_of(path.string(), ": no whole archive: ", why == nullptr ? "damaged" : why));
  };
  if (archive_read_open_filename(a, path.c_str(), 64 * 1024) != ARCHIVE_OK) return damaged();
  Files files;
  uint64_t total = 0, entries = 0, skipped = 0;
  archive_entry* entry = nullptr;
  int code;
  while ((code = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
    const char* name = archive_entry_pathname(entry);
    const int64_t size = archive_entry_size(entry);
    if (name == nullptr || size < 0 || ++entries > 2 * kMaxRecords) return damaged();
    if (archive_entry_filetype(entry) != AE_IFREG || !std::string_view(name).ends_with(".json")) {
      // Skipping decompresses, too.
      skipped += static_cast<uint64_t>(size);
      if (skipped > kMaxBytes) return unreadable(text_of(path.string(), ": too much in it besides records"));
      continue;
    }
    const std::string inside = text_of(path.string(), ": ", name);
    if (static_cast<uint64_t>(size) > kMaxRecord) {
      return unreadable(text_of(inside, ": has ", size, " bytes, expected at most ", kMaxRecord));
    }
    Bytes bytes(static_cast<size_t>(size));
    if (archive_read_data(a, bytes.data(), bytes.size()) != size) return damaged();
    ISOBIT_RETURN_IF_ERROR(add(files, total, inside, std::move(bytes)));
  }
  if (code != ARCHIVE_EOF) return damaged();
  return files;
}

}  // namespace

namespace {

bool is_named_as_archive(const fs::path& path) {
  const std::string name = path.filename().string();
  return std::ranges::any_of(kArchives, [&](const char* end) { return name.ends_with(end); });
}

}  // namespace

Expected<std::vector<fs::path>> record_files(const fs::path& path) {
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::is_directory(path, error)) return files;
  fs::recursive_directory_iterator at(path, error), end;
  for (; !error && at != end; at.increment(error)) {
    if (at.depth() >= kMaxDepth) at.disable_recursion_pending();
    if (at->path().extension() != ".json" || !at->is_regular_file(error)) continue;
    files.push_back(at->path());
    if (files.size() > kMaxRecords) return too_many(path.string());
  }
  if (error) return unavailable(text_of(path.string(), ": ", error.message()));
  return files;
}

bool is_study(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) || is_named_as_archive(path);
}

Status check_lab_name(const fs::path& path) {
  if (!is_named_as_archive(path)) return {};
  return usage_error(text_of(path.string(),
                             ": a file of this name is read as an archive of the published study; "
                             "expected another name for a lab, like measured.lab"));
}

Expected<Study> import_study(const fs::path& path, records::LabFile& lab) {
  std::error_code ignored;
  ISOBIT_TRY(const Files files, fs::is_directory(path, ignored) ? read_folder(path) : read_archive(path));
  std::vector<StudyRun> decoded;
  std::set<commit::Digest> platforms;
  std::map<std::string, std::set<commit::Digest>> of_model;
  std::map<std::string, size_t> records_of_model;
  for (const auto& [name, bytes] : files) {
    ISOBIT_TRY(StudyRun run, decode_record(bytes, name));
    const commit::Digest platform = run.runs.front().platform.digest();
    platforms.insert(platform);
    of_model[run.runs.front().subject.model].insert(platform);
    ++records_of_model[run.runs.front().subject.model];
    decoded.push_back(std::move(run));
  }
  if (decoded.empty()) return unreadable(text_of(path.string(), ": no *.json files in it, and no lab"));
  Study study;
  study.platforms = platforms.size();
  for (const auto& [model, having] : of_model) {
    if (having.size() == platforms.size()) continue;
    study.left_out.push_back({model, records_of_model[model], having.size()});
  }
  // Where no model has been run everywhere there is nothing better to compare.
  if (study.left_out.size() == of_model.size()) study.left_out.clear();
  for (const StudyRun& run : decoded) {
    const std::string& model = run.runs.front().subject.model;
    if (std::ranges::any_of(study.left_out, [&](const LeftOut& l) { return l.model == model; })) continue;
    ++study.records;
    for (const records::RunRecord& each : run.runs) ISOBIT_RETURN_IF_ERROR(lab.add_run(each));
    for (const Bytes& output : run.outputs) ISOBIT_RETURN_IF_ERROR(lab.keep(output, kMaxBytes).map([](bool) {}));
  }
  return study;
}

}  // namespace isobit::lab::study
