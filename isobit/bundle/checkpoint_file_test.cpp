// What is said of a checkpoint that cannot be read.
#include "isobit/bundle/checkpoint_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "isobit/base/text.h"

namespace isobit::bundle {
namespace {

// The memory of this process: a plain file whose first page nobody can read.
TEST(CheckpointFile, ADiskThatFailsAccusesNobody) {
  if (!fs::exists("/proc/self/mem")) GTEST_SKIP() << "skipped: the system does not show memory as a file";
  int checked = 0;
  auto file = CheckpointFile::open("/proc/self/mem", 100, [&](const FileEntry&) {
    ++checked;
    return rejected("another digest");
  });
  ASSERT_TRUE(file) << file.error().message;
  Bytes bytes(8);
  const Status read = file->read(0, bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnavailable) << read.error().message;
  const Status finished = file->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::kUnavailable) << finished.error().message;
  EXPECT_NE(finished.error().message.find("/proc/self/mem: cannot read: "), std::string::npos);
  EXPECT_EQ(checked, 0) << "of what was not read there is no digest";
}

TEST(CheckpointFile, OneThatIsCutShortMeanwhileIsNotWhatWasSigned) {
  const fs::path path = fs::temp_directory_path() / text_of("isobit_checkpoint_file_", ::getpid());
  ASSERT_TRUE(write_file_durably(path, Bytes(100, 7)));
  FileEntry entry;
  auto file = CheckpointFile::open(path, 100, [&](const FileEntry& found) {
    entry = found;
    return rejected("another digest");
  });
  ASSERT_TRUE(file);
  fs::resize_file(path, 40);
  Bytes bytes(60);
  EXPECT_EQ(file->read(0, bytes).error().code, ErrorCode::kUnreadable);
  EXPECT_EQ(file->finish().error().message, "another digest");
  EXPECT_EQ(entry.size, 40u);
  fs::remove(path);
}

}  // namespace
}  // namespace isobit::bundle
