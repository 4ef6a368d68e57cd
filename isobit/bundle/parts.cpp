#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/parts_internal.h"

namespace isobit::bundle {

std::string name_in(const fs::path& folder, std::string_view file) { return (folder / file).string(); }

Status check_engagement(const verify::Engagement& engagement, const OpenOptions& options, const fs::path& folder) {
  const verify::EngagementTerms& terms = engagement.terms;
  Status status = verify::verify_engagement(engagement, options.client_key.value_or(terms.client_key));
  if (status && options.terms) status = verify::check_terms(terms, *options.terms);
  // Its messages begin with "engagement: ".
  return status ? status : rejected(name_in(folder, status.error().message));
}

Status check_entry(const fs::path& folder, std::string_view name, const FileEntry& found, const Manifest& manifest) {
  const auto expected = manifest.files.find(std::string(name));
  if (expected != manifest.files.end() && expected->second == found) return {};
  const std::string claimed = expected == manifest.files.end() ? "nothing" : commit::hex_of(expected->second.sha256);
  return rejected(
      text_of(name_in(folder, name), ": has SHA-256 ", commit::hex_of(found.sha256), ", the manifest says ", claimed));
}

Status check_initial(const Parts& parts, const verify::Engagement& engagement, const fs::path& folder) {
  const verify::Transcript& transcript = parts.transcript.transcript;
  if (transcript.size() > 0 && transcript.initial().job_root != engagement.terms.job_root) {
    return rejected(text_of(name_in(folder, kTranscriptFile), ": field 'job_root': found ",
                            commit::hex_of(transcript.initial().job_root), ", the engagement says ",
                            commit::hex_of(engagement.terms.job_root)));
  }
  return {};
}

Status check_parts(const Parts& parts, const verify::Engagement& engagement, const fs::path& folder) {
  ISOBIT_RETURN_IF_ERROR(check_initial(parts, engagement, folder));
  return verify::verify_heads(parts.heads.heads, engagement, parts.transcript.transcript, name_in(folder, kHeadsFile));
}

Status check_log_presence(bool logged, const Listing& listing, const fs::path& folder) {
  if (logged && !listing.has(kLogFile)) {
    return rejected(text_of((folder / kLogFile).string(), ": is missing; the job of this run is logged"));
  }
  if (!logged && listing.log_folder) {
    return rejected(text_of((folder / kLogFolder).string(), ": is there, but the job of this run is not logged"));
  }
  return {};
}

Expected<Log> open_unfinished_log(Parts& parts, const fs::path& folder) {
  const std::string what = (folder / kLogFile).string();
  const verify::Transcript& transcript = parts.transcript.transcript;
  const uint64_t covered = parts.heads.heads.empty() ? 0 : parts.heads.heads.back().tree.size;  // leaves
  ISOBIT_TRY(ReadFile file, ReadFile::open(folder / kLogFile));
  ISOBIT_TRY(LogScanner scanner, LogScanner::begin(file, what));
  Bytes segment;
  uint64_t steps = 0;
  for (bool whole = true; whole && steps < transcript.steps(); steps += whole) {
    if (steps + 1 < covered) {
      ISOBIT_TRY(whole, scanner.skip());
      if (!whole) {
        return rejected(text_of(what, ": ends before the segment of step ", steps + 1, ", which a signed head covers",
                                scanner.torn().empty() ? "" : "; ", scanner.torn()));
      }
    } else {
      ISOBIT_TRY(const bool read, scanner.next(segment));
      whole = read;
    }
  }
  LogIndex index = scanner.index();
  index.cut(steps);
  if (steps < transcript.steps()) parts.transcript = first_leaves(parts.transcript, steps + 1);
  return Log{std::move(file), std::move(index)};
}

Expected<Log> salvage_log(Parts& parts, const fs::path& folder) {
  const std::string what = name_in(folder, kLogFile);
  ISOBIT_TRY(ReadFile file, ReadFile::open(folder / kLogFile));
  ISOBIT_TRY(LogScanner scanner, LogScanner::begin(file, what));
  const uint64_t stored = parts.transcript.transcript.steps();
  Bytes segment;
  for (bool whole = true; whole && scanner.index().segments() < stored;) {
    ISOBIT_TRY(whole, scanner.next(segment));
  }
  const uint64_t steps = scanner.index().segments();
  if (steps < stored) parts.transcript = first_leaves(parts.transcript, steps + 1);
  return Log{std::move(file), scanner.index()};
}

namespace {

// The first step whose segment is not what its checksum says, where the file is not what was signed for.
std::string damaged_step(const ReadFile& file, uint64_t steps, const std::string& what) {
  auto scanner = LogScanner::begin(file, what);
  Bytes segment;
  Expected<bool> whole = true;
  while (scanner && whole && *whole && scanner->index().segments() < steps) whole = scanner->next(segment);
  if (!scanner || !whole || scanner->torn().empty()) return "";
  return text_of("; step ", scanner->index().segments() + 1, ": ", scanner->torn());
}

}  // namespace

Expected<Log> open_finished_log(const verify::Transcript& transcript, const FileEntry& entry, const fs::path& folder) {
  const std::string what = (folder / kLogFile).string();
  ISOBIT_TRY(ReadFile file, ReadFile::open(folder / kLogFile));
  if (file.size() > kMaxLogBytes) {
    return rejected(text_of(what, ": is ", human_bytes(file.size()), ", more than the ", human_bytes(kMaxLogBytes),
                            " a log may have"));
  }
  ISOBIT_TRY(LogScanner scanner, LogScanner::begin(file, what));
  Bytes segment;
  for (uint64_t step = 1; step <= transcript.steps(); ++step) {
    ISOBIT_TRY(const bool whole, scanner.next(segment, Checksums::kTrust));
    if (!whole) {
      return rejected(
          text_of(what, ": step ", step, ": has no whole segment", scanner.torn().empty() ? "" : "; ", scanner.torn()));
    }
  }
  const FileEntry found{scanner.index().bytes(), scanner.digest()};
  if (file.size() != found.size) {
    return rejected(text_of(what, ": has bytes after the segment of the last step"));
  }
  if (found != entry) {
    return rejected(text_of(what, ": has SHA-256 ", commit::hex_of(found.sha256), ", the manifest says ",
                            commit::hex_of(entry.sha256), damaged_step(file, transcript.steps(), what)));
  }
  return Log{std::move(file), scanner.index()};
}

}  // namespace isobit::bundle
