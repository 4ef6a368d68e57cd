// What lies beside a lab, and what SQLite would make of it.
#include <sys/wait.h>

#include <fstream>

#include "isobit/base/durable_file.h"
#include "isobit/lab/records/database.h"
#include "isobit/lab/records/lab_folder_for_test.h"

namespace isobit::lab::records {
namespace {

using testing::HasSubstr;
using LabJournalTest = LabFolder;

TEST_F(LabJournalTest, AKilledWriterLeavesAWholeLab) {
  make_example();
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    // A cache of one page: what is written goes to the file before anything is committed.
    const int done =
        sqlite3_exec(db,
                     "PRAGMA cache_size = 1; BEGIN; UPDATE runs SET repeat = 9; "
                     "INSERT INTO tensors (hash, size, data) VALUES (randomblob(16), 1, zeroblob(200000)); "
                     "INSERT INTO tensors (hash, size, data) VALUES (randomblob(16), 1, zeroblob(200000))",
                     nullptr, nullptr, nullptr);
    _exit(done);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(path_.string() + "-journal"));
  EXPECT_EQ(complaint(), "");
  auto lab = LabFile::open(path_, LabFile::Mode::kRead);
  EXPECT_EQ(lab->runs(example_run(0).subject).value(), (std::vector<RunRecord>{example_run(0), example_run(1)}));
  EXPECT_EQ(lab->kept()->size(), 1u);
}

// Whoever has it open would write a journal beside another file, which takes that for its own.
TEST_F(LabJournalTest, ALabThatIsMovedOrReplacedIsWrittenNoMore) {
  make_example();
  auto lab = LabFile::open(path_, LabFile::Mode::kWrite);
  ASSERT_TRUE(lab) << lab.error().message;
  const fs::path moved = folder_ / "moved.lab";
  fs::rename(path_, moved);
  const auto refused = [&] {
    const Status added = lab->add_run(example_run(2));
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(added.error().message, HasSubstr("a.lab: the file was moved, replaced or removed"));
  };
  refused();
  EXPECT_FALSE(fs::exists(path_));
  make_example();  // another one of that name
  refused();
  EXPECT_EQ(complaint(), "");
  fs::rename(moved, path_);
  EXPECT_EQ(complaint(), "");
  EXPECT_TRUE(lab->add_run(example_run(2)));
}

// A journal as SQLite writes it, whose last record names another file: `victim`.
Bytes journal_naming(const fs::path& lab, const std::string& victim) {
  ByteWriter out;
  const auto big = [&](uint32_t v) {
    for (const int shift : {24, 16, 8, 0}) out.u8(static_cast<uint8_t>(v >> shift));
  };
  const Bytes magic = from_hex("d9d505f920a163d7").value();
  out.fixed(magic);
  for (const uint64_t v : {uint64_t{0}, uint64_t{1}, fs::file_size(lab) / 4096, uint64_t{512}, uint64_t{4096}}) {
    big(static_cast<uint32_t>(v));
  }
  while (out.view().size() < 512) out.u8(0);
  big(0x40000000 / 4096 + 1);
  uint32_t sum = 0;
  for (const char c : victim) {
    out.u8(static_cast<uint8_t>(c));
    sum += static_cast<uint32_t>(c);
  }
  big(static_cast<uint32_t>(victim.size()));
  big(sum);
  out.fixed(magic);
  return out.take();
}

TEST_F(LabJournalTest, AJournalThatNamesAnotherFileIsRefused) {
  make_example();
  const fs::path victim = folder_ / "thesis.txt", link = folder_ / "linked.lab";
  std::ofstream(victim) << "thesis";
  const Bytes journal = journal_naming(path_, victim.string());
  ASSERT_TRUE(write_file_durably(path_.string() + "-journal", journal));
  fs::create_symlink(path_, link);
  for (const fs::path& name : {path_, link}) {
    for (const auto mode : {LabFile::Mode::kRead, LabFile::Mode::kWrite}) {
      const auto lab = LabFile::open(name, mode);
      ASSERT_FALSE(lab);
      EXPECT_EQ(lab.error().code, ErrorCode::kUnreadable);
      EXPECT_THAT(lab.error().message, HasSubstr("names another file"));
    }
  }
  EXPECT_TRUE(fs::exists(victim));
  EXPECT_TRUE(fs::exists(path_.string() + "-journal"));
  // Nor is it taken for the journal of a lab that is made.
  fs::remove(path_);
  EXPECT_FALSE(LabFile::create(path_));
  EXPECT_FALSE(LabFile::open_or_create(path_));
  EXPECT_TRUE(fs::exists(victim));
  // And it is what SQLite does by itself.
  fs::remove(path_.string() + "-journal");
  make_example();
  ASSERT_TRUE(write_file_durably(path_.string() + "-journal", journal));
  tamper("SELECT count(*) FROM runs");
  EXPECT_FALSE(fs::exists(victim));
}

// Whoever exchanges journals may show a good one to the check and an evil one to SQLite.
TEST_F(LabJournalTest, SqliteItselfIsKeptFromOtherFiles) {
  make_example();
  const fs::path victim = folder_ / "thesis.txt", journal_path = path_.string() + "-journal";
  std::ofstream(victim) << "thesis";
  // Another database's journal is none of this one's either, though the program has that one open.
  const fs::path other = folder_ / "other.lab";
  auto open = LabFile::create(other);
  ASSERT_TRUE(open);
  const fs::path others = other.string() + "-journal";
  std::ofstream(others) << "a journal";
  for (const fs::path& named : {victim, others}) {
    ASSERT_TRUE(write_file_durably(journal_path, journal_naming(path_, named.string())));
    for (const auto access : {Database::Access::kRead, Database::Access::kWrite}) {
      const auto database = Database::open(path_, access);
      if (database) static_cast<void>(database->execute("SELECT count(*) FROM runs"));
      EXPECT_TRUE(fs::exists(named)) << named;
    }
  }
}

TEST_F(LabJournalTest, ALabInWalModeIsRefusedAndLeavesNothingBeside) {
  make_example();
  tamper("PRAGMA journal_mode = WAL");
  EXPECT_THAT(complaint(), HasSubstr("WAL"));
  EXPECT_FALSE(LabFile::open(path_, LabFile::Mode::kWrite));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  tamper("PRAGMA journal_mode = DELETE");
  EXPECT_EQ(complaint(), "");
  std::ofstream(path_.string() + "-wal") << "a log that would be played into it";
  EXPECT_THAT(complaint(), HasSubstr("-wal"));
  EXPECT_FALSE(fs::exists(path_.string() + "-shm"));
}

TEST_F(LabJournalTest, MakingOneIsOneStep) {
  // What fails leaves nothing.
  const Status failed = LabFile::make(path_, [](LabFile& lab) -> Status {
    EXPECT_TRUE(lab.add_run(example_run(0)));
    return unavailable("full");
  });
  EXPECT_FALSE(failed);
  EXPECT_TRUE(fs::is_empty(folder_));
  // Of several that make one, each gets it.
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < 6; ++i) {
    children.push_back(fork());
    if (children.back() == 0) {
      auto lab = LabFile::open_or_create(path_);
      _exit(lab && lab->add_run(example_run(i)) ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(LabFile::open(path_, LabFile::Mode::kRead)->runs(example_run(0).subject)->size(), 6u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace isobit::lab::records
