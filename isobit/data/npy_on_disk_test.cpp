// .npy files that stay on the disk: the same samples as from memory, whatever there is of it, and no others when
// somebody changes the file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "isobit/base/text.h"
#include "isobit/data/batch.h"
#include "isobit/data/data_shape.h"
#include "isobit/data/sample_check.h"
#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::npy;
using testing::sample_bytes;
using testing::TemporaryFolder;

// With no room in memory every file in C order stays on the disk.
constexpr uint64_t kNoRoom = 0;

class NpyOnDisk : public ::testing::Test {
 protected:
  NpyOnDisk() {
    std::vector<float> values;
    std::vector<uint8_t> flags;
    std::vector<int32_t> labels;
    for (int i = 0; i < 40; ++i) {
      for (int k = 0; k < 6; ++k) values.push_back(static_cast<float>(i * 6 + k) / 7);
      flags.push_back(i % 3 == 0);
      labels.push_back(i % 5);
    }
    folder_.write("inputs.x.npy", npy<float>("<f4", "(40, 2, 3)", values));
    folder_.write("inputs.flag.npy", npy<uint8_t>("|b1", "(40,)", flags));
    folder_.write("labels.npy", npy<int32_t>("<i4", "(40,)", labels));
    config_.dataset = "npy";
    config_.path = folder_.path();
  }
  std::unique_ptr<Dataset> open(uint64_t room) {
    auto dataset = open_dataset(config_, room);
    EXPECT_TRUE(dataset) << dataset.error().message;
    return std::move(*dataset);
  }
  std::string error_of(const Dataset& dataset) {
    ThreadPool pool(2);
    const auto batch = train_batch(dataset, {.seed = 1, .batch = 40, .augment = {}}, 0, pool);
    EXPECT_FALSE(batch);
    return batch ? "" : batch.error().message;
  }
  TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(NpyOnDisk, GivesWhatMemoryGives) {
  const auto held = open(kMaxDatasetBytes), read = open(kNoRoom);
  EXPECT_EQ(held->held_bytes(), 40u * (24 + 1 + 4));
  EXPECT_EQ(read->held_bytes(), 0u);
  EXPECT_EQ(shape_of(*read).bytes, 0u);
  EXPECT_EQ(held->header_bytes(), read->header_bytes());
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(sample_bytes(*held, Split::kTrain, i), sample_bytes(*read, Split::kTrain, i));
  }
  ThreadPool one(1), three(3);
  const BatchOptions options{.seed = 3, .batch = 33, .augment = {}};
  const Batch a = train_batch(*held, options, 2, one).value(), b = train_batch(*read, options, 2, three).value();
  EXPECT_EQ(a.indices, b.indices);
  EXPECT_TRUE(identical(a.target, b.target));
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(identical(a.inputs[i], b.inputs[i]));
}

TEST_F(NpyOnDisk, AFileThatIsCutIsAnError) {
  const auto read = open(kNoRoom);
  ASSERT_EQ(::truncate(folder_.path("inputs.x.npy").c_str(), 300), 0);
  const std::string message = error_of(*read);
  EXPECT_TRUE(contains(message, "inputs.x.npy"));
  EXPECT_TRUE(contains(message, "something is writing it"));
  Bytes sample;
  EXPECT_FALSE(read->sample_bytes(Split::kTrain, 39, sample));
}

TEST_F(NpyOnDisk, AFileThatIsWrittenToIsAnError) {
  const auto read = open(kNoRoom);
  const int fd = ::open(folder_.path("labels.npy").c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  const uint8_t seven = 7;
  ASSERT_EQ(::pwrite(fd, &seven, 1, static_cast<off_t>(fs::file_size(folder_.path("labels.npy"))) - 4), 1);
  const timespec times[] = {{1, 0}, {1, 0}};  // whatever the clock of the file system
  ASSERT_EQ(::futimens(fd, times), 0);
  ::close(fd);
  EXPECT_TRUE(contains(error_of(*read), "labels.npy: has changed since it was opened"));
}

// Every sample that is fed is shown to the check, as it is stored, and what the check says is what happens.
TEST_F(NpyOnDisk, WhatIsReadIsChecked) {
  folder_.write("inputs.image.npy", npy<uint8_t>("|u1", "(40, 1, 4, 4)", [] {
                  std::vector<uint8_t> pixels(40 * 16);
                  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 7);
                  return pixels;
                }()));
  const auto held = open(kMaxDatasetBytes), read = open(kNoRoom);
  std::mutex mutex;
  std::map<int64_t, Bytes> seen;
  int64_t bad = -1;
  const SampleCheck check = [&](Split split, int64_t index, std::span<const ByteView> stored) -> Status {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(split, Split::kTrain);
    for (const ByteView piece : stored) seen[index].insert(seen[index].end(), piece.begin(), piece.end());
    return index == bad ? Status(unavailable("bad sample")) : Status();
  };
  check_reads(*read, check);
  ThreadPool pool(3);
  const BatchOptions options{.seed = 1, .batch = 40, .augment = {}};
  ASSERT_TRUE(train_batch(*read, options, 0, pool));
  ASSERT_EQ(seen.size(), 40u);
  for (const auto& [index, stored] : seen) EXPECT_EQ(stored, sample_bytes(*held, Split::kTrain, index));
  bad = 17;
  EXPECT_EQ(error_of(*read), "bad sample");
  Bytes sample;
  EXPECT_TRUE(read->sample_bytes(Split::kTrain, 16, sample));
  EXPECT_FALSE(read->sample_bytes(Split::kTrain, 17, sample));
  bad = -1;
  // The check knows the contents, so that nothing has to be concluded from times.
  const timespec times[] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder_.path("inputs.x.npy").c_str(), times, 0), 0);
  ASSERT_EQ(::utimensat(AT_FDCWD, folder_.path("labels.npy").c_str(), times, 0), 0);
  EXPECT_TRUE(train_batch(*read, options, 0, pool));
  // What lies in memory is what it was.
  seen.clear();
  check_reads(*held, check);
  EXPECT_TRUE(train_batch(*held, options, 0, pool));
  EXPECT_TRUE(seen.empty());
}

// What is cropped and flipped is checked as it was before that.
TEST_F(NpyOnDisk, WhatIsAugmentedIsCheckedAsItIsStored) {
  TemporaryFolder folder;
  std::vector<float> pixels(40 * 16);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);
  folder.write("inputs.npy", npy<float>("<f4", "(40, 1, 4, 4)", pixels));
  folder.write("labels.npy", npy<int32_t>("<i4", "(40,)", std::vector<int32_t>(40, 1)));
  config_.path = folder.path();
  const auto held = open(kMaxDatasetBytes), read = open(kNoRoom);
  std::atomic<int> seen = 0;
  check_reads(*read, [&](Split split, int64_t index, std::span<const ByteView> stored) -> Status {
    Bytes all;
    for (const ByteView piece : stored) all.insert(all.end(), piece.begin(), piece.end());
    EXPECT_EQ(all, sample_bytes(*held, split, index));
    ++seen;
    return {};
  });
  ThreadPool pool(2);
  const BatchOptions options{.seed = 1, .batch = 40, .augment = {.crop = true, .flip = true}};
  const Batch a = train_batch(*held, options, 0, pool).value(), b = train_batch(*read, options, 0, pool).value();
  EXPECT_EQ(seen, 40);
  EXPECT_TRUE(identical(a.inputs[0], b.inputs[0]));
}

// Whoever replaces a file leaves the old one to those who have it open.
TEST_F(NpyOnDisk, AFileThatIsReplacedStaysWhatItWas) {
  const auto read = open(kNoRoom);
  const Bytes before = sample_bytes(*read, Split::kTrain, 7);
  folder_.write("inputs.x.npy", as_bytes("something else"));
  EXPECT_EQ(sample_bytes(*read, Split::kTrain, 7), before);
}

TEST_F(NpyOnDisk, WhatIsWrongIsFoundWhenItIsOpened) {
  folder_.write("inputs.flag.npy", npy<uint8_t>("|b1", "(40,)", [] {
                  std::vector<uint8_t> flags(40);
                  flags[39] = 2;
                  return flags;
                }()));
  const auto wrong = open_dataset(config_, kNoRoom);
  // No float and no target: nothing scans it, and its rows are looked at when they are read.
  ASSERT_TRUE(wrong) << wrong.error().message;
  Bytes sample;
  EXPECT_TRUE((*wrong)->sample_bytes(Split::kTrain, 38, sample));
  const Status read = (*wrong)->sample_bytes(Split::kTrain, 39, sample);
  ASSERT_FALSE(read);
  EXPECT_TRUE(contains(read.error().message, "inputs.flag.npy: a boolean is neither 0 nor 1"));
}

TEST_F(NpyOnDisk, FortranOrderIsHeldOrRefused) {
  std::vector<float> values;
  for (int k = 0; k < 80; ++k) values.push_back(static_cast<float>(k));
  folder_.write("inputs.x.npy", npy<float>("<f4", "(40, 2)", values, true));
  // Room for the flags, which are opened first, and the file; none for the labels.
  const uint64_t room = fs::file_size(folder_.path("inputs.flag.npy")) + fs::file_size(folder_.path("inputs.x.npy"));
  const auto held = open(room);
  EXPECT_EQ(held->held_bytes(), 40u + 320u) << "and nothing else";
  const Bytes sample = sample_bytes(*held, Split::kTrain, 3);
  float pair[2];
  std::memcpy(pair, sample.data() + sample.size() - sizeof pair, sizeof pair);
  EXPECT_EQ(pair[0], 3);
  EXPECT_EQ(pair[1], 43);
  const auto refused = open_dataset(config_, room - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(contains(refused.error().message, "inputs.x.npy"));
}

// 8 GiB in a file that takes no room.
TEST_F(NpyOnDisk, DataMayExceedMemory) {
  constexpr int64_t kRows = 1 << 16, kRow = 1 << 17;
  TemporaryFolder folder;
  const Bytes front = testing::npy_front("|i1", text_of("(", kRows, ", ", kRow, ")"));
  const std::string path = folder.write("inputs.npy", front);
  const off_t end = static_cast<off_t>(front.size()) + kRows * kRow;
  ASSERT_EQ(::truncate(path.c_str(), end), 0);
  const int fd = ::open(path.c_str(), O_WRONLY);
  const uint8_t last = 42;
  ASSERT_EQ(::pwrite(fd, &last, 1, end - 1), 1);
  ::close(fd);
  DataConfig config;
  config.dataset = "npy";
  config.path = folder.path();
  config.target = TargetRule::kNone;
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto dataset = open_dataset(config);
  ASSERT_TRUE(dataset) << dataset.error().message;
  ThreadPool pool(2);
  ASSERT_TRUE(train_batch(**dataset, {.seed = 1, .batch = 64, .augment = {}}, 0, pool));
  EXPECT_EQ(sample_bytes(**dataset, Split::kTrain, kRows - 1).back(), 42);
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "KiB";
}

}  // namespace
}  // namespace isobit::data
