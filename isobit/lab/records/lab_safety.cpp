#include "isobit/lab/records/lab_safety.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "isobit/base/text.h"

namespace isobit::lab::records {
namespace {

constexpr const char* kJournal = "-journal";
constexpr const char* kLog = "-wal";
// The last bytes of a journal that names a super-journal: its name, the name's length and checksum, these eight.
constexpr std::array<uint8_t, 8> kJournalMagic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

// A name that leads nowhere is there, too.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

fs::path beside(const fs::path& path, const char* what) {
  fs::path name = path;
  name += what;
  return name;
}

tl::unexpected<Error> in_wal_mode(const fs::path& path, const std::string& found) {
  return unreadable(text_of(path.string(), ": ", found, ", expected a lab with a rollback journal; turn it into one ",
                            "with 'sqlite3 FILE \"PRAGMA journal_mode = DELETE\"' if you trust it"));
}

Status check_header(const PlainFile& file, const fs::path& path) {
  std::array<uint8_t, 20> head{};
  ISOBIT_TRY(const size_t read, file.read_at(0, head));
  const bool is_database = read == head.size() && std::memcmp(head.data(), "SQLite format 3", 16) == 0;
  // Versions of its format for writing and for reading: 1 with a rollback journal, 2 with a write-ahead log.
  if (!is_database || (head[18] == 1 && head[19] == 1)) return {};
  return in_wal_mode(path, "a database in WAL mode");
}

Status check_journal(const fs::path& path) {
  const fs::path name = beside(path, kJournal);
  if (!is_there(name)) return {};
  const auto journal = PlainFile::open(name, Links::kRefuse);
  if (!journal) {
    if (!is_there(name)) return {};  // whoever wrote the lab has ended it meanwhile
    return tl::unexpected<Error>(journal.error());
  }
  std::array<uint8_t, 16> tail{};
  if (journal->size() < tail.size()) return {};
  // A journal that another process writes at this moment may become shorter.
  ISOBIT_TRY(const size_t read, journal->read_at(journal->size() - tail.size(), tail));
  if (read < tail.size() || !std::equal(kJournalMagic.begin(), kJournalMagic.end(), tail.begin() + 8)) return {};
  return unreadable(text_of(name.string(),
                            ": names another file, which SQLite would delete, and no lab's journal does; ",
                            "remove it, and ask for the lab again from whoever sent it"));
}

// That the name is none of a journal or log of a file that is there.
Status check_no_part(const fs::path& path) {
  for (const std::string what : {kJournal, kLog}) {
    const std::string text = path.string();
    const fs::path other = text.ends_with(what) ? text.substr(0, text.size() - what.size()) : "";
    if (other.has_filename() && is_there(other)) {
      return usage_error(text_of(text, ": would be taken for a part of ", other.string(), "; choose another name"));
    }
  }
  return {};
}

}  // namespace

Status check_safe(const PlainFile& file, const fs::path& path) {
  // SQLite looks beside the file that a link leads to.
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return cannot("find", path, error.value());
  ISOBIT_RETURN_IF_ERROR(check_header(file, path));
  if (is_there(beside(real, kLog))) {
    return in_wal_mode(path, text_of("a write-ahead log beside it, ", beside(real, kLog).string()));
  }
  return check_journal(real);
}

Status check_no_lab(const fs::path& path) {
  ISOBIT_RETURN_IF_ERROR(check_no_part(path));
  const auto file = PlainFile::open(path, Links::kFollow);
  std::array<uint8_t, 72> head{};
  if (!file || file->read_at(0, head).value_or(0) != head.size()) return {};
  if (std::memcmp(head.data(), "SQLite format 3", 16) != 0 || std::memcmp(head.data() + 68, "islb", 4) != 0) return {};
  return usage_error(text_of(path.string(), ": is a lab, which would be replaced; choose another name"));
}

Status check_nothing_beside(const fs::path& path) {
  ISOBIT_RETURN_IF_ERROR(check_no_part(path));
  for (const std::string what : {kJournal, kLog}) {
    const fs::path name = beside(path, what.c_str());
    if (is_there(name)) {
      return usage_error(text_of(name.string(),
                                 ": is there without its lab, and would be taken for that of the new one; ",
                                 "remove it or choose another name"));
    }
  }
  return {};
}

}  // namespace isobit::lab::records
