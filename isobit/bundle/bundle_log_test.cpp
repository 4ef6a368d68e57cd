// The log of a logged run: its records, its place in the bundle, and reading single segments of it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "isobit/bundle/reader.h"
#include "isobit/bundle/testing.h"

namespace isobit::bundle {
namespace {

using testing::fake_segment;
using testing::Files;
using testing::files_of;
using testing::Plan;
using testing::put_file;

const OpenOptions kPinned{testing::key_of(testing::kClient).public_key()};

Bytes log_of(const std::vector<Bytes>& segments) {
  ByteWriter writer;
  writer.fixed(log_header());
  for (const Bytes& segment : segments) writer.fixed(encode_record(segment));
  return writer.take();
}

Bytes fake_log() {
  std::vector<Bytes> segments;
  for (uint64_t t = 1; t <= Plan{}.rules.steps; ++t) segments.push_back(fake_segment(t));
  return log_of(segments);
}

std::string text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

struct Scan {
  LogIndex index;
  std::string torn;
};
Scan scan(ByteView data, bool read) {
  const Memory source(data);
  auto scanner = LogScanner::begin(source, "log");
  ISOBIT_CHECK(scanner.has_value());
  Bytes segment;
  while (read ? *scanner->next(segment) : *scanner->skip()) {
  }
  return {scanner->index(), scanner->torn()};
}

TEST(LogScanner, StopsAtTheFirstBadRecord) {
  const Bytes data = log_of({Bytes(3, 'a'), {}, Bytes(5, 'b')});
  const size_t header = log_header().size();
  const size_t ends[] = {header, header + 15, header + 27, header + 44};
  ASSERT_EQ(data.size(), ends[3]);
  for (size_t n = header; n <= data.size(); ++n) {
    const size_t whole = static_cast<size_t>(std::upper_bound(ends, ends + 4, n) - ends) - 1;
    for (bool read : {false, true}) {
      const Scan cut = scan(ByteView(data).first(n), read);
      EXPECT_EQ(cut.index.segments(), whole);
      EXPECT_EQ(cut.index.bytes(), ends[whole]);
      EXPECT_EQ(cut.torn.empty(), n == ends[whole]);
    }
  }
  for (size_t bit = header * 8; bit < data.size() * 8; ++bit) {
    Bytes bad = data;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const Scan damaged = scan(bad, true);
    EXPECT_EQ(damaged.index.segments(), bit / 8 < ends[1] ? 0u : bit / 8 < ends[2] ? 1u : 2u);
    EXPECT_FALSE(damaged.torn.empty());
    (void)scan(bad, false);
  }
}

TEST(LogScanner, IndexSaysWhereSegmentsAre) {
  const Bytes data = fake_log();
  for (bool read : {false, true}) {
    const LogIndex index = scan(data, read).index;
    ASSERT_EQ(index.segments(), 7u);
    for (uint64_t t = 1; t <= 7; ++t) {
      ASSERT_EQ(index.size(t), fake_segment(t).size());
      EXPECT_TRUE(std::ranges::equal(ByteView(data).subspan(index.offset(t), index.size(t)), fake_segment(t)));
    }
  }
}

TEST(LogScanner, HugeClaimsAllocateNothing) {
  for (uint64_t claim : {kMaxLogSegmentBytes, kMaxLogSegmentBytes + 1, uint64_t{UINT32_MAX}}) {
    Bytes data = log_header();
    const auto length = static_cast<uint32_t>(claim);
    data.resize(data.size() + 100);
    std::memcpy(data.data() + log_header().size(), &length, sizeof length);
    const Memory source(data);
    auto scanner = LogScanner::begin(source, "log");
    Bytes segment;
    EXPECT_FALSE(*scanner->next(segment));
    EXPECT_EQ(segment.capacity(), 0u);
    EXPECT_NE(scanner->torn().find(claim > kMaxLogSegmentBytes ? "over the limit" : "cut short"), std::string::npos);
    EXPECT_FALSE(*scanner->skip());
  }
}

TEST(LogScanner, HeaderIsChecked) {
  for (size_t n = 0; n < log_header().size(); ++n) {
    const Bytes header = log_header();
    EXPECT_FALSE(LogScanner::begin(Memory(ByteView(header).first(n)), "log"));
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = header;
      bad[n] ^= static_cast<uint8_t>(1 << bit);
      EXPECT_FALSE(LogScanner::begin(Memory(bad), "log"));
    }
  }
  Bytes newer = log_header();
  newer[23] = 3;
  const auto scanner = LogScanner::begin(Memory(newer), "log");
  EXPECT_NE(scanner.error().message.find("newer version: found 3"), std::string::npos);
}

class LoggedRun : public ::testing::Test {
 protected:
  LoggedRun() { ISOBIT_CHECK(testing::write_run(run_, plan_).has_value()); }
  Expected<BundleReader> open() const { return testing::open_bundle(run_, kPinned, plan_); }
  // As a cheating trainer would, with sizes and digests that may be claimed instead of the true ones.
  void sign_for(const std::string& name, const std::optional<FileEntry>& entry) {
    const std::string old = files_of(run_).at("manifest.json");
    Manifest manifest = *decode_manifest(as_bytes(old), "m");
    if (entry) {
      manifest.files[name] = *entry;
    } else {
      manifest.files.erase(name);
    }
    const Bytes bytes = encode(manifest);
    const auto key = testing::key_of(testing::kTrainer);
    put_file(run_ / "manifest.json", text(bytes));
    put_file(run_ / "manifest.sig", text(encode(sign_manifest(bytes, manifest.job_root, manifest.run_id, key))));
  }
  // What opening says of a log that the trainer signs.
  std::string refused(const Bytes& log) {
    put_file(run_ / "log" / "segments", text(log));
    sign_for("log/segments", entry_of(log));
    const auto reader = open();
    if (reader) return "";
    EXPECT_EQ(reader.error().code, ErrorCode::kRejected);
    return reader.error().message;
  }
  Plan plan_ = testing::plan_of(true);
  testing::TemporaryFolder scratch_;
  fs::path run_ = scratch_ / "run";
};

TEST_F(LoggedRun, SegmentsAreReadInAnyOrder) {
  const auto reader = open();
  ASSERT_TRUE(reader) << reader.error().message;
  for (uint64_t t : {7, 1, 4, 3, 3, 6, 2, 5}) EXPECT_EQ(*reader->read_log_segment(t), fake_segment(t));
  EXPECT_EQ(text(fake_log()), files_of(run_).at("log/segments"));
  for (uint64_t t : {uint64_t{0}, uint64_t{8}, UINT64_MAX}) {
    EXPECT_EQ(reader->read_log_segment(t).error().code, ErrorCode::kUsage);
  }
  const BundleReader copy = *reader;
  EXPECT_EQ(*copy.read_log_segment(5), fake_segment(5));
}

// The manifest is compared when a finished run is opened; from then on who decodes a segment compares it with its leaf.
TEST_F(LoggedRun, ADamagedSegmentIsNamedAndOneThatIsCutIsNotRead) {
  const auto reader = open();
  ASSERT_TRUE(reader);
  std::string log = text(fake_log());
  log[scan(fake_log(), false).index.offset(4)] ^= 1;
  put_file(run_ / "log" / "segments", log);
  const auto damaged = open();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kRejected);
  EXPECT_NE(damaged.error().message.find("step 4: record 3"), std::string::npos) << damaged.error().message;
  fs::resize_file(run_ / "log" / "segments", scan(fake_log(), false).index.offset(7));
  EXPECT_EQ(reader->read_log_segment(7).error().code, ErrorCode::kRejected);
}

// What is in a segment shows when it is decoded, so only its place is looked at here.
TEST_F(LoggedRun, EngagedTrainerCannotSignALogOfAnotherShape) {
  std::vector<Bytes> segments;
  for (uint64_t t = 1; t <= 7; ++t) segments.push_back(fake_segment(t));
  EXPECT_EQ(refused(log_of(segments)), "");
  auto with = [&](auto change) {
    auto changed = segments;
    change(changed);
    return refused(log_of(changed));
  };
  EXPECT_NE(with([](auto& s) { s.pop_back(); }).find("step 7"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.push_back({}); }).find("after the segment of the last step"), std::string::npos);
  EXPECT_NE(refused({}), "");
  EXPECT_NE(refused(log_header()), "");
  Bytes log = log_of(segments);
  log[log_header().size() + 5] ^= 1;  // of the checksum
  EXPECT_EQ(refused(log), "") << "the manifest vouches for the file, checksums are against accidents";
  EXPECT_EQ(refused(log_of(segments)), "");
}

TEST_F(LoggedRun, LargerThanAnyLogIsNotRead) {
  sign_for("log/segments", FileEntry{kMaxLogBytes + 1, {}});
  std::error_code error;
  fs::resize_file(run_ / "log" / "segments", kMaxLogBytes + 1, error);  // takes no space
  const std::errc too_large[] = {std::errc::file_too_large, std::errc::no_space_on_device, std::errc::invalid_argument};
  if (std::find(std::begin(too_large), std::end(too_large), error) != std::end(too_large)) {
    GTEST_SKIP() << "skipped: no file system with files that large";
  }
  ASSERT_FALSE(error) << error.message();
  const auto reader = open();
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kRejected);
  EXPECT_NE(reader.error().message.find("more than the"), std::string::npos);
}

TEST_F(LoggedRun, LogIsThereExactlyWhenTheJobIsLogged) {
  fs::remove_all(run_ / "log");
  sign_for("log/segments", std::nullopt);
  EXPECT_EQ(open().error().code, ErrorCode::kRejected);
  fs::remove(run_ / "manifest.json");
  EXPECT_EQ(open().error().code, ErrorCode::kRejected) << "neither in an unfinished run";
  EXPECT_EQ(testing::resume_run(run_, plan_).error().code, ErrorCode::kRejected);

  fs::remove_all(run_);
  plan_ = {};
  ASSERT_TRUE(testing::write_run(run_, plan_));
  ASSERT_TRUE(open());
  EXPECT_EQ(open()->read_log_segment(1).error().code, ErrorCode::kUsage);
  fs::create_directory(run_ / "log");
  EXPECT_EQ(open().error().code, ErrorCode::kRejected) << "not even an empty folder";
  put_file(run_ / "log" / "segments", text(fake_log()));
  sign_for("log/segments", entry_of(fake_log()));
  EXPECT_EQ(open().error().code, ErrorCode::kRejected);
  fs::remove(run_ / "manifest.json");
  EXPECT_EQ(open().error().code, ErrorCode::kRejected);
  EXPECT_EQ(testing::resume_run(run_, {}).error().code, ErrorCode::kRejected);
}

TEST_F(LoggedRun, LinkedFolderIsRefused) {
  fs::rename(run_ / "log", scratch_ / "elsewhere");
  fs::create_directory_symlink(scratch_ / "elsewhere", run_ / "log");
  EXPECT_EQ(open().error().code, ErrorCode::kRejected);
  fs::remove(run_ / "manifest.json");
  EXPECT_EQ(open().error().code, ErrorCode::kRejected);
  EXPECT_FALSE(testing::resume_run(run_, plan_));
}

TEST(LogOfAWriter, ASegmentComesWithItsLeaf) {
  testing::TemporaryFolder scratch;
  const Plan plan = testing::plan_of(true);
  auto writer = testing::create(scratch / "run", plan);
  ASSERT_TRUE(writer);
  const auto leaves = testing::leaves_of(plan);
  const auto& first = std::get<verify::StepLeaf>(leaves[1]);
  ASSERT_TRUE(writer->append(leaves[0]));
  const auto before = files_of(scratch / "run");
  EXPECT_EQ(writer->append(leaves[1]).error().code, ErrorCode::kUsage);
  EXPECT_EQ(files_of(scratch / "run"), before) << "nothing was written";
  EXPECT_EQ(writer->read_log_segment(1).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(writer->append(first, fake_segment(1)));
  EXPECT_EQ(*writer->read_log_segment(1), fake_segment(1));

  auto other = testing::create(scratch / "other", {});
  ASSERT_TRUE(other);
  const auto unlogged = testing::leaves_of({});
  ASSERT_TRUE(other->append(unlogged[0]));
  const auto& step = std::get<verify::StepLeaf>(unlogged[1]);
  EXPECT_EQ(other->append(step, fake_segment(1)).error().code, ErrorCode::kUsage);
  EXPECT_EQ(other->read_log_segment(1).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(scratch / "other" / "log"));
}

TEST(LogOfAWriter, ReplayedSegmentsAreNotStoredTwice) {
  testing::TemporaryFolder scratch;
  const Plan plan = testing::plan_of(true);
  {
    auto writer = testing::create(scratch / "run", plan);
    ASSERT_TRUE(writer && testing::drive(*writer, plan, 6));
  }
  const auto before = files_of(scratch / "run");
  auto writer = BundleWriter::resume(scratch / "run", testing::key_of(testing::kTrainer));
  ASSERT_TRUE(writer);
  const auto leaves = testing::leaves_of(plan);
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(testing::append(*writer, plan, leaves[i]));
  EXPECT_EQ(files_of(scratch / "run").at("log/segments"), before.at("log/segments"));
  auto again = std::get<verify::StepLeaf>(leaves[5]);
  ASSERT_TRUE(writer->continue_from(4));
  again.log_segment = commit::sha256(fake_segment(6));
  const Status status = writer->append(again, fake_segment(6));
  ASSERT_FALSE(status) << "this machine decided otherwise than before";
  EXPECT_EQ(status.error().code, ErrorCode::kRejected);
  EXPECT_EQ(files_of(scratch / "run"), before);
}

TEST(LogOfAWriter, TooLargeSegmentIsNotTouched) {
  testing::TemporaryFolder scratch;
  put_file(scratch / "log", text(log_header()));
  auto file = ReadFile::open(scratch / "log");
  ASSERT_TRUE(file);
  auto writer = LogFileWriter::open(scratch / "log", {std::move(*file), {}});
  ASSERT_TRUE(writer);
  void* unreadable = ::mmap(nullptr, kMaxLogSegmentBytes + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(unreadable, MAP_FAILED);
  const ByteView segment(static_cast<const uint8_t*>(unreadable), kMaxLogSegmentBytes + 1);
  EXPECT_EQ(writer->append(1, segment).error().code, ErrorCode::kUsage);
  ::munmap(unreadable, kMaxLogSegmentBytes + 1);
  EXPECT_TRUE(writer->append(1, fake_segment(1)));
  EXPECT_TRUE(writer->append(1, fake_segment(2))) << "its leaf could not be written";
  EXPECT_TRUE(writer->append(2, fake_segment(5)));
  EXPECT_EQ(files_of(scratch / "").at("log"), text(log_of({fake_segment(2), fake_segment(5)})));
}

TEST(LogOfAWriter, BeginningOfALoggedRunDoesNotStayInAnother) {
  testing::TemporaryFolder scratch;
  put_file(scratch / "run" / "lock", "");
  put_file(scratch / "run" / "log" / "segments", text(log_header()));
  put_file(scratch / "run" / "log" / "segments.tmp", "x");
  EXPECT_EQ(run_state(scratch / "run"), RunState::kNotBegun);
  ASSERT_TRUE(testing::write_run(scratch / "run", {}));
  EXPECT_FALSE(fs::exists(scratch / "run" / "log"));
  EXPECT_TRUE(testing::open_bundle(scratch / "run", kPinned, {}));
}

TEST(LogOfAReader, SegmentsOfARunThatGoesOn) {
  testing::TemporaryFolder scratch;
  const Plan plan = testing::plan_of(true);
  auto writer = testing::create(scratch / "run", plan);
  ASSERT_TRUE(writer && testing::drive(*writer, plan, 6));
  const auto reader = testing::open_bundle(scratch / "run", kPinned, plan);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->transcript().steps(), 5u);
  ASSERT_TRUE(testing::drive(*writer, plan));
  for (uint64_t t = 1; t <= 5; ++t) EXPECT_EQ(*reader->read_log_segment(t), fake_segment(t));
  EXPECT_FALSE(reader->read_log_segment(6));
}

TEST(LogOfAReader, LeavesWithoutTheirSegmentAreLeftOut) {
  testing::TemporaryFolder scratch;
  const Plan plan = testing::plan_of(true);
  {
    auto writer = testing::create(scratch / "run", plan);
    ASSERT_TRUE(writer && testing::drive(*writer, plan, 6));
  }
  const std::string log = files_of(scratch / "run").at("log/segments");
  put_file(scratch / "run" / "log" / "segments", log.substr(0, log.size() - 1));
  const auto reader = testing::open_bundle(scratch / "run", kPinned, plan);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->transcript().steps(), 4u);
  EXPECT_EQ(*reader->read_log_segment(4), fake_segment(4));
}

}  // namespace
}  // namespace isobit::bundle
