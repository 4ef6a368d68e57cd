// What tells the subjects of two sweeps apart.
#include "isobit/lab/measure/subject.h"

#include <gtest/gtest.h>

#include <fstream>

#include "isobit/base/temporary_folder.h"

namespace isobit::lab::measure {
namespace {

std::vector<NamedTensor> example_inputs() {
  Tensor x(DType::kFloat32, Shape(std::vector<int64_t>{3})), ids(DType::kInt64, Shape(std::vector<int64_t>{1, 2}));
  for (int i = 0; i < 3; ++i) x.data<float>()[i] = 1;
  ids.data<int64_t>()[0] = 5;
  ids.data<int64_t>()[1] = -1;
  return {{"x", x}, {"ids", ids}};
}

TEST(Subject, DigestOfInputsIsGolden) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(fs::path(source ? source : ".") / "tests/golden/lab_digests.txt");
  std::string golden;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("inputs ")) golden = line.substr(7);
  }
  EXPECT_EQ(commit::hex_of(digest_of(example_inputs())), golden);
}

TEST(Subject, EveryPartOfTheInputsCounts) {
  const commit::Digest own = digest_of(example_inputs());
  auto renamed = example_inputs(), turned = example_inputs(), other = example_inputs();
  renamed[0].name = "y";
  EXPECT_NE(digest_of(renamed), own);
  std::swap(turned[0], turned[1]);
  EXPECT_NE(digest_of(turned), own);
  other[0].tensor = other[0].tensor.clone();
  other[0].tensor.data<float>()[2] = -1;
  EXPECT_NE(digest_of(other), own);
}

TEST(Subject, AFileIsHashedAsAWhole) {
  const auto folder = TemporaryFolder::make("subject_test");
  ASSERT_TRUE(folder);
  const Bytes bytes(3'000'000, 7);
  ASSERT_TRUE(write_file_durably(folder->path() / "f", bytes));
  EXPECT_EQ(sha256_of_file(folder->path() / "f").value(), commit::sha256(bytes));
  EXPECT_EQ(sha256_of_file(folder->path() / "none").error().code, ErrorCode::kUnreadable);
}

TEST(WatchedFiles, AnyChangeIsTold) {
  const auto folder = TemporaryFolder::make("subject_test");
  ASSERT_TRUE(folder);
  const fs::path path = folder->path() / "f", other = folder->path() / "g";
  const Bytes bytes(1000, 7), others(1000, 8);
  const auto watched = [&] {
    WatchedFiles files;
    EXPECT_TRUE(write_file_durably(path, bytes));
    EXPECT_EQ(files.add(path).value(), commit::sha256(bytes));
    EXPECT_TRUE(files.check_same());
    EXPECT_TRUE(files.check_bytes());
    return files;
  };
  WatchedFiles files = watched();
  ASSERT_TRUE(write_file_durably(other, others));
  fs::rename(other, path);
  EXPECT_FALSE(files.check_same());
  EXPECT_FALSE(files.check_bytes());
  files = watched();
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_FALSE(files.check_same());
  files = watched();
  fs::remove(path);
  const Status gone = files.check_same();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(gone.error().message.find(path.string()), std::string::npos);
  EXPECT_EQ(files.add(path).error().code, ErrorCode::kUnreadable);
}

}  // namespace
}  // namespace isobit::lab::measure
