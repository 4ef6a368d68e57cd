#include "isobit/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "isobit/base/text.h"

namespace isobit {
namespace {

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "isobit_file_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path at(const std::string& name) const { return folder_ / name; }
  std::string content(const std::string& name) const {
    const Bytes bytes = read_file(at(name), 1 << 20).value();
    return {bytes.begin(), bytes.end()};
  }
  int64_t names() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  // What is no regular file, each of its own kind: name and the words for it.
  std::vector<std::pair<std::string, std::string>> odd_things() {
    fs::create_directory(at("folder"));
    EXPECT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", at("socket").c_str());
    socket_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    fs::create_symlink("/dev/null", at("device"));
    return {{"folder", "a folder"}, {"pipe", "a named pipe"}, {"socket", "a socket"}, {"device", "a device"}};
  }

  fs::path folder_;
  Descriptor socket_;
};

TEST_F(File, AnOpenFileKnowsThatItHasChanged) {
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("one")));
  const PlainFile file = PlainFile::open(at("x"), Links::kFollow).value();
  EXPECT_TRUE(file.check_unchanged());
  // Replaced is not changed: the open file is still the old one.
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("two")));
  EXPECT_TRUE(file.check_unchanged());
  const PlainFile again = PlainFile::open(at("x"), Links::kFollow).value();
  // The same bytes again at another time, and a byte less.
  const timespec times[] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("x").c_str(), times, 0), 0);
  const Status touched = again.check_unchanged();
  ASSERT_FALSE(touched);
  EXPECT_EQ(touched.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(touched.error().message.find("has changed since it was opened"), std::string::npos);
  const PlainFile third = PlainFile::open(at("x"), Links::kFollow).value();
  ASSERT_EQ(::truncate(at("x").c_str(), 2), 0);
  EXPECT_FALSE(third.check_unchanged());
}

// As many bytes as there were, and the time that there was.
TEST_F(File, TimesThatAreSetBackHideNoChange) {
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("one")));
  struct stat before {};
  ASSERT_EQ(::stat(at("x").c_str(), &before), 0);
  const PlainFile file = PlainFile::open(at("x"), Links::kFollow).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the clock of the file system may be a slow one
  std::ofstream(at("x"), std::ios::in | std::ios::binary) << "two";
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("x").c_str(), times, 0), 0);
  EXPECT_EQ(content("x"), "two");
  const Status changed = file.check_unchanged();
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message.find("has changed since it was opened"), std::string::npos);
}

TEST_F(File, DurableWriteReplacesAndLeavesNoTemporary) {
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("one")));
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("two")));
  EXPECT_EQ(content("x"), "two");
  EXPECT_FALSE(read_file(at("x"), 2));
  EXPECT_EQ(names(), 1);
  EXPECT_FALSE(write_file_durably(at("missing") / "x", as_bytes("")));
}

TEST_F(File, WritersOfOneNameDoNotMeet) {
  std::atomic<int> failed = 0;
  const auto write = [&](char c) {
    for (int i = 0; i < 50; ++i) {
      if (!write_file_durably(at("x"), Bytes(100000, static_cast<uint8_t>(c)))) ++failed;
    }
  };
  std::thread one(write, 'a'), two(write, 'b');
  for (int i = 0; i < 50; ++i) {
    const auto seen = read_file(at("x"), 1 << 20);
    if (!seen) continue;
    EXPECT_EQ(*seen, Bytes(100000, (*seen)[0]));  // never half of each
  }
  one.join();
  two.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(names(), 1);
}

TEST_F(File, OverwritesOnlyWhenAllowed) {
  const WriteOptions keep{.replace = false};
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("one"), keep));
  const Status again = write_file_durably(at("x"), as_bytes("two"), keep);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUsage);
  EXPECT_EQ(content("x"), "one");
  EXPECT_FALSE(check_writable_name(at("x"), false));
  EXPECT_TRUE(check_writable_name(at("x"), true));
  EXPECT_TRUE(check_writable_name(at("y"), false));
  // A file that comes after the look and before the end is not overwritten either: many writers, one wins.
  std::atomic<int> won = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&] { won += write_file_durably(at("race"), as_bytes("mine"), keep) ? 1 : 0; });
  }
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(names(), 2);
}

TEST_F(File, ReplacesOnlyRegularFilesAndFollowsNoLink) {
  ASSERT_TRUE(write_file_durably(at("target"), as_bytes("precious")));
  fs::create_symlink(at("target"), at("link"));
  fs::create_symlink(at("nowhere"), at("dangling"));
  auto things = odd_things();
  things.pop_back();  // reached through a link
  for (const char* link : {"link", "dangling", "device"}) things.emplace_back(link, "a symbolic link");
  const int64_t before = names();
  for (const auto& [name, kind] : things) {
    for (const bool replace : {false, true}) {
      const Status written = write_file_durably(at(name), as_bytes("x"), {.replace = replace});
      ASSERT_FALSE(written) << name;
      EXPECT_EQ(written.error().code, ErrorCode::kUsage) << name;
      EXPECT_NE(written.error().message.find(kind), std::string::npos) << written.error().message;
    }
  }
  EXPECT_EQ(content("target"), "precious");
  EXPECT_FALSE(fs::exists(at("nowhere")));
  EXPECT_EQ(names(), before);
}

TEST_F(File, KeepsTheModeOfWhatItReplaces) {
  const auto mode_of = [&](const char* name) {
    struct stat info {};
    EXPECT_EQ(::stat(at(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  ASSERT_TRUE(write_file_durably(at("secret"), as_bytes("1"), {.replace = false, .mode = 0600}));
  EXPECT_EQ(mode_of("secret"), 0600u);
  ASSERT_TRUE(write_file_durably(at("secret"), as_bytes("2")));
  EXPECT_EQ(mode_of("secret"), 0600u);
}

TEST_F(File, OpensPlainFilesOnlyAndDoesNotWait) {
  ASSERT_TRUE(write_file_durably(at("target"), as_bytes("12345")));
  fs::create_symlink(at("target"), at("link"));
  for (const auto& [name, kind] : odd_things()) {
    const auto read = read_file(at(name), 100);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(read.error().message.find(text_of("is not a regular file but ", kind)), std::string::npos)
        << read.error().message;
  }
  EXPECT_EQ(read_file(at("link"), 100).value().size(), 5u);
  const auto refused = read_file(at("link"), 100, Links::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a symbolic link"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(read_file(at("target"), 100, Links::kRefuse));
}

TEST_F(File, ReadsExactlyWhatItsSizeSays) {
  // A file of /proc has bytes but no size.
  const auto without_size = read_file("/proc/self/status", 1 << 20);
  ASSERT_FALSE(without_size);
  EXPECT_NE(without_size.error().message.find("is no file on a disk"), std::string::npos)
      << without_size.error().message;
  // A size is looked at before anything of that size is allocated.
  ASSERT_TRUE(write_file_durably(at("sparse"), as_bytes("x")));
  ASSERT_EQ(::truncate(at("sparse").c_str(), off_t{1} << 40), 0);
  const auto huge = read_file(at("sparse"), uint64_t{1} << 30);
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("1.1 TB"), std::string::npos) << huge.error().message;

  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("12345")));
  const PlainFile file = PlainFile::open(at("x"), Links::kRefuse).value();
  uint8_t three[3];
  ASSERT_TRUE(file.read_exactly(2, three));
  EXPECT_EQ(three[2], '5');
  EXPECT_EQ(file.read_at(4, three).value(), 1u);
  EXPECT_FALSE(file.read_exactly(3, three));
}

// Whoever wrote a file is not to be blamed, and a file is not to be given up, for what this machine cannot do.
TEST_F(File, WhatThisMachineCannotDoIsNotTheFiles) {
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("12345")));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto opened = read_file(at("x"), 100);
  const auto missing = read_file(at("y"), 100);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable) << opened.error().message;
  EXPECT_NE(opened.error().message.find("this machine"), std::string::npos) << opened.error().message;
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnreadable) << missing.error().message;
}

// Nothing is mapped at address 0, and reading there is an error of the device.
TEST_F(File, WhatADeviceFailsToGiveIsNotTheFiles) {
  if (!fs::exists("/proc/self/mem")) GTEST_SKIP() << "skipped: the system does not show memory as a file";
  const auto memory = PlainFile::open("/proc/self/mem", Links::kFollow);
  ASSERT_TRUE(memory) << memory.error().message;
  uint8_t byte = 0;
  const auto read = memory->read_at(0, {&byte, 1});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnavailable) << read.error().message;
}

TEST_F(File, ALimitOnTheSizeOfFilesIsSaid) {
  ASSERT_TRUE(write_file_durably(at("x"), as_bytes("old")));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small{4096, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status written = write_file_durably(at("x"), Bytes(10000));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(written.error().message.find("ulimit -f"), std::string::npos) << written.error().message;
  EXPECT_EQ(content("x"), "old");
  EXPECT_EQ(names(), 1);
}

}  // namespace
}  // namespace isobit
