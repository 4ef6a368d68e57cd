#include <gtest/gtest.h>

#include "isobit/data/batch.h"
#include "isobit/data/dataset.h"
#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::open_error;
using testing::TemporaryFolder;

DataConfig text_config(const std::string& path, int64_t context) {
  DataConfig config;
  config.dataset = "text";
  config.path = path;
  config.context = context;
  return config;
}

Bytes counting(size_t n) {
  Bytes bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  return bytes;
}

TEST(Text, BlocksSplitAndLabels) {
  TemporaryFolder folder;
  const Bytes bytes = counting(1000);
  auto dataset = open_dataset(text_config(folder.write("a.txt", bytes), 9));
  ASSERT_TRUE(dataset) << dataset.error().message;
  const Dataset& text = **dataset;
  EXPECT_EQ(text.inputs(), (std::vector<SampleInput>{{"input", DType::kInt64, {9}}}));
  EXPECT_EQ(text.target(), (Target{TargetKind::kClassPerToken, DType::kInt64, {9}, 256}));
  EXPECT_EQ(text.train_count(), 100);  // 111 blocks
  EXPECT_EQ(text.test_count(), 11);
  EXPECT_EQ(testing::sample_bytes(text, Split::kTest, 10),
            Bytes(bytes.begin() + 110 * 9, bytes.begin() + 110 * 9 + 10));

  ThreadPool pool(2);
  const Batch batch = train_batch(text, {.seed = 3, .batch = 5, .augment = {}}, 2, pool).value();
  EXPECT_EQ(batch.inputs[0].shape(), (Shape{5, 9}));
  EXPECT_EQ(batch.target.shape(), (Shape{5, 9}));
  for (size_t j = 0; j < 5; ++j) {
    for (size_t t = 0; t < 9; ++t) {
      const auto at = static_cast<size_t>(batch.indices[j]) * 9 + t;
      EXPECT_EQ(batch.inputs[0].data<int64_t>()[j * 9 + t], bytes[at]);
      EXPECT_EQ(batch.target.data<int64_t>()[j * 9 + t], bytes[at + 1]);
    }
  }
}

TEST(Text, SmallestText) {
  TemporaryFolder folder;
  auto dataset = open_dataset(text_config(folder.write("a.txt", counting(9)), 4));
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->train_count(), 1);
  EXPECT_EQ((*dataset)->test_count(), 1);
}

TEST(Text, Errors) {
  TemporaryFolder folder;
  const std::string path = folder.write("a.txt", counting(8));
  EXPECT_TRUE(contains(open_error(text_config(path, 4)), "found 8 bytes, expected at least 9"));
  EXPECT_TRUE(contains(open_error(text_config(path, 0)), "data.context: found 0"));
  EXPECT_TRUE(contains(open_error(text_config(path, -5)), "data.context: found -5"));
  EXPECT_TRUE(contains(open_error(text_config(path, INT64_MAX)), "data.context"));
  EXPECT_TRUE(contains(open_error(text_config(folder.path("none"), 4)), "none: cannot open"));
  EXPECT_TRUE(contains(open_error(text_config("", 4)), "data.path: found nothing"));
  DataConfig augmented = text_config(path, 1);
  augmented.augment = {"flip"};
  EXPECT_TRUE(contains(open_error(augmented), "data.augment"));
}

}  // namespace
}  // namespace isobit::data
