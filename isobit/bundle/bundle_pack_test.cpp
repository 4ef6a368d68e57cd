// A run as one file: the same bytes back, and nothing on the disk of what is not.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "isobit/bundle/pack.h"
#include "isobit/bundle/tar.h"
#include "isobit/bundle/testing.h"

namespace isobit::bundle {
namespace {

using testing::files_of;
using testing::Plan;
using testing::put_file;

const OpenOptions kPinned{testing::key_of(testing::kClient).public_key()};

class Pack : public ::testing::TestWithParam<bool> {
 protected:
  Pack() {
    ISOBIT_CHECK(testing::write_run(run_, plan_).has_value());
    ISOBIT_CHECK(pack_run(run_, file_, false, kPinned).has_value());
    good_ = files_of(scratch_ / "")["run.tar"];
  }
  // Of unpacking these bytes. Nothing may be left behind.
  Status unpacked(const std::string& bytes) {
    put_file(file_, bytes);
    const auto done = unpack_run(file_, out_, kPinned);
    if (done) return {};
    EXPECT_FALSE(fs::exists(fs::symlink_status(out_)));
    for (const auto& entry : fs::directory_iterator(out_.parent_path())) {
      EXPECT_FALSE(entry.path().string().ends_with(".tmp")) << entry.path();
    }
    return tl::unexpected<Error>(done.error());
  }
  static std::string file(const std::string& name, const std::string& contents) {
    const TarHeader header = tar_header(name, contents.size());
    return std::string(header.begin(), header.end()) + contents + std::string(tar_padding(contents.size()), '\0');
  }
  static inline const std::string kEnd = std::string(1024, '\0');

  const Plan plan_ = testing::plan_of(GetParam());
  testing::TemporaryFolder scratch_;
  fs::path run_ = scratch_ / "run", file_ = scratch_ / "run.tar", out_ = scratch_ / "back";
  std::string good_;
};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithLog, Pack, ::testing::Bool());

TEST_P(Pack, StoppedItLeavesNothing) {
  const std::atomic<bool> stop{true};
  const auto before = files_of(scratch_ / "");
  EXPECT_EQ(pack_run(run_, scratch_ / "stopped.tar", false, kPinned, &stop).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(unpack_run(file_, out_, kPinned, &stop).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(files_of(scratch_ / ""), before);
  EXPECT_FALSE(fs::exists(out_));
}

TEST_P(Pack, AndBack) {
  ASSERT_TRUE(unpacked(good_));
  EXPECT_EQ(files_of(out_), files_of(run_));
  EXPECT_TRUE(testing::open_bundle(out_, kPinned, plan_));
  ASSERT_TRUE(pack_run(out_, scratch_ / "again.tar", false, {}));
  EXPECT_EQ(files_of(scratch_ / "")["again.tar"], good_) << "one run, one file";
  EXPECT_EQ(unpack_run(file_, out_, kPinned).error().code, ErrorCode::kUsage) << "there is one already";
  EXPECT_EQ(pack_run(run_, file_, false, kPinned).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(pack_run(run_, file_, true, kPinned));
  EXPECT_EQ(pack_run(run_, run_ / "own.tar", false, kPinned).error().code, ErrorCode::kUsage);
  EXPECT_EQ(unpack_run(file_, run_ / "checkpoints" / "run", kPinned).error().code, ErrorCode::kUsage);
}

TEST_P(Pack, FlippedBitsAndEveryLengthOfBlocksAreRefused) {
  for (size_t at = 0; at < good_.size(); at += 5) {
    std::string bad = good_;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    const Status status = unpacked(bad);
    ASSERT_FALSE(status) << "byte " << at;
    const ErrorCode code = status.error().code;
    ASSERT_TRUE(code == ErrorCode::kRejected || code == ErrorCode::kUnreadable) << status.error().message;
  }
  for (size_t n = 0; n < good_.size(); n += n % 512 == 0 ? 1 : 511) {
    ASSERT_FALSE(unpacked(good_.substr(0, n))) << "cut to " << n;
  }
  EXPECT_FALSE(unpacked(good_ + '\0'));
  EXPECT_FALSE(unpacked(good_ + kEnd)) << "bytes behind the end";
  EXPECT_FALSE(unpacked(good_ + good_));
  EXPECT_TRUE(unpacked(good_));
}

// Names that lead elsewhere, kinds that are no plain files, the same name twice, others than the manifest's.
TEST_P(Pack, ItHoldsNothingButWhatIsSignedFor) {
  const std::string front = good_.substr(0, good_.size() - kEnd.size());
  for (const char* name : {"../escaped", "/tmp/escaped", "checkpoints/../../escaped", "checkpoints/step-07.safetensors",
                           "zzz", "./transcript", "lock", "checkpoints/index", "manifest.json.tmp"}) {
    const Status status = unpacked(front + file(name, "x") + kEnd);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().code, ErrorCode::kUnreadable) << status.error().message;
  }
  EXPECT_FALSE(fs::exists(scratch_ / "escaped"));
  EXPECT_FALSE(unpacked(front + file("transcript", "x") + kEnd)) << "twice";
  const Status more = unpacked(front + file("transcript", "") + kEnd);
  EXPECT_FALSE(more);
  // A checkpoint that the manifest does not list, at its place in the order.
  const std::string header = [] {
    const TarHeader bytes = tar_header("heads", 1);
    return std::string(bytes.begin(), bytes.begin() + 100);
  }();
  const size_t heads = good_.find(header);
  ASSERT_NE(heads, std::string::npos);
  const Status extra =
      unpacked(good_.substr(0, heads) + file("checkpoints/step-9.safetensors", "x") + good_.substr(heads));
  ASSERT_FALSE(extra);
  EXPECT_EQ(extra.error().code, ErrorCode::kRejected) << extra.error().message;
  // And one that it lists is missing.
  const TarHeader bytes = tar_header("heads", files_of(run_)["heads"].size());
  const size_t size = bytes.size() + files_of(run_)["heads"].size() + tar_padding(files_of(run_)["heads"].size());
  const Status missing = unpacked(good_.substr(0, heads) + good_.substr(heads + size));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kRejected) << missing.error().message;
}

TEST_P(Pack, OtherKindsThanPlainFilesAreNone) {
  const std::string front = good_.substr(0, good_.size() - kEnd.size());
  for (char kind : {'1', '2', '3', '5', '6', 'x', 'g', 'L', '\0'}) {
    std::string entry = file("transcript", "");
    entry[156] = kind;
    uint32_t sum = 0;
    for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(entry[i]);
    std::snprintf(entry.data() + 148, 8, "%06o", sum);
    EXPECT_EQ(unpacked(front + entry + kEnd).error().code, ErrorCode::kUnreadable) << kind;
  }
}

TEST_P(Pack, OfAnotherClientOrUnfinished) {
  const OpenOptions other{testing::key_of(testing::kTrainer).public_key()};
  EXPECT_EQ(unpack_run(file_, out_, other).error().code, ErrorCode::kRejected);
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_EQ(pack_run(run_, scratch_ / "x.tar", false, other).error().code, ErrorCode::kRejected);
  put_file(run_ / "heads", "something else");
  EXPECT_EQ(pack_run(run_, scratch_ / "x.tar", false, kPinned).error().code, ErrorCode::kRejected);
  fs::remove(run_ / "manifest.json");
  EXPECT_EQ(pack_run(run_, scratch_ / "x.tar", false, kPinned).error().code, ErrorCode::kUnreadable);
  EXPECT_FALSE(fs::exists(scratch_ / "x.tar"));
}

// A hole of a terabyte is noticed before it is read.
TEST_P(Pack, ClaimsOfSizesAreNotBelieved) {
  for (uint64_t size : {uint64_t{1} << 34, uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 1023}) {
    const TarHeader header = tar_header("engagement", size);
    EXPECT_FALSE(unpacked(std::string(header.begin(), header.end()) + kEnd)) << size;
  }
  put_file(file_, "");
  std::error_code error;
  fs::resize_file(file_, uint64_t{1} << 40, error);
  if (!error) {
    EXPECT_EQ(unpack_run(file_, out_, kPinned).error().code, ErrorCode::kUnreadable);
  }
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(unpack_run(file_, out_, kPinned).error().code, ErrorCode::kUnreadable);
}

// All that a finished run may have, each file empty, and one checkpoint too many.
TEST_P(Pack, HasNoMoreFilesThanARun) {
  for (const uint64_t more : {0u, 1u}) {
    std::set<std::string> names = {"heads", "log/segments", "transcript"};
    for (uint64_t step = 0; step < kMaxCheckpoints + more; ++step) names.insert("checkpoints/" + checkpoint_name(step));
    std::vector<std::string> all = {"engagement", "manifest.json", "manifest.sig", "job.toml"};
    all.insert(all.end(), names.begin(), names.end());
    std::string bytes;
    for (const std::string& name : all) {
      const TarHeader header = tar_header(name, 0);
      bytes.append(header.begin(), header.end());
    }
    put_file(file_, bytes + kEnd);
    const auto listed = list_pack(ReadFile::open(file_).value(), "x");
    EXPECT_EQ(all.size(), 4103 + more);
    ASSERT_EQ(listed.has_value(), more == 0) << (listed ? "" : listed.error().message);
    if (more > 0) {
      EXPECT_NE(listed.error().message.find("has more than 4103 files"), std::string::npos);
    }
  }
}

TEST(Tar, HeadersOfAnySizeComeBack) {
  for (uint64_t size :
       {uint64_t{0}, uint64_t{1}, uint64_t{511}, (uint64_t{1} << 33) - 1, uint64_t{1} << 33, UINT64_MAX}) {
    const TarHeader header = tar_header("checkpoints/step-18446744073709551615.safetensors", size);
    const auto entry = decode_tar_header(header, "x");
    ASSERT_TRUE(entry) << size;
    EXPECT_EQ(entry->size, size);
    for (size_t bit = 0; bit < 8 * header.size(); ++bit) {
      TarHeader bad = header;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(decode_tar_header(bad, "x")) << size << " bit " << bit;
    }
  }
}

}  // namespace
}  // namespace isobit::bundle
