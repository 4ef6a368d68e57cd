// mnist and cifar10 from files written here, byte by byte, and from the real ones where they are present.
#include <gtest/gtest.h>

#include "isobit/data/batch.h"
#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::filled;
using testing::gzip;
using testing::open_error;
using testing::sample_bytes;
using testing::TemporaryFolder;

void big_endian(Bytes& out, uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(v >> shift));
}

uint8_t pixel(int64_t sample, int64_t k) { return static_cast<uint8_t>(sample * 31 + k * 7); }

Bytes idx_images(uint32_t n, uint32_t h = 28, uint32_t w = 28) {
  Bytes out;
  big_endian(out, 0x803);
  for (const uint32_t dim : {n, h, w}) big_endian(out, dim);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k = 0; k < h * w; ++k) out.push_back(pixel(i, k));
  }
  return out;
}

Bytes idx_labels(uint32_t n, uint8_t first = 0) {
  Bytes out;
  big_endian(out, 0x801);
  big_endian(out, n);
  for (uint32_t i = 0; i < n; ++i) out.push_back(static_cast<uint8_t>(first + i));
  return out;
}

class Mnist : public ::testing::Test {
 protected:
  Mnist() {
    config_.dataset = "mnist";
    config_.path = folder_.path();
    folder_.write("train-images-idx3-ubyte", idx_images(5));
    folder_.write("train-labels-idx1-ubyte", idx_labels(5));
    folder_.write("t10k-images-idx3-ubyte", idx_images(3));
    folder_.write("t10k-labels-idx1-ubyte.gz", gzip(idx_labels(3, 7)));
  }
  void remove(const std::string& name) { fs::remove(folder_.path(name)); }

  TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(Mnist, PlainAndGzip) {
  auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs(), (std::vector<SampleInput>{{"input", DType::kFloat32, {1, 28, 28}}}));
  EXPECT_EQ((*dataset)->target(), (Target{TargetKind::kClass, DType::kInt64, {}, 10}));
  EXPECT_EQ((*dataset)->train_count(), 5);
  EXPECT_EQ((*dataset)->test_count(), 3);
  const auto [input, label] = filled(**dataset, Split::kTest, 2);
  EXPECT_EQ(label, 9);
  for (int64_t k = 0; k < 784; ++k) EXPECT_EQ(input[static_cast<size_t>(k)], static_cast<float>(pixel(2, k)) / 255.0f);
  const Bytes sample = sample_bytes(**dataset, Split::kTrain, 4);
  ASSERT_EQ(sample.size(), 8u + 784u);
  EXPECT_EQ(sample[0], 4);
  EXPECT_EQ(sample[8 + 783], pixel(4, 783));

  // The same data, all of it compressed: the same commitment bytes.
  const Bytes header = (*dataset)->header_bytes();
  remove("train-images-idx3-ubyte");
  folder_.write("train-images-idx3-ubyte.gz", gzip(idx_images(5)));
  auto again = open_dataset(config_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(sample_bytes(**again, Split::kTrain, 4), sample);
  EXPECT_EQ((*again)->header_bytes(), header);
}

TEST_F(Mnist, MissingFile) {
  remove("t10k-images-idx3-ubyte");
  const std::string message = open_error(config_);
  EXPECT_TRUE(contains(message, folder_.path("t10k-images-idx3-ubyte")));
  EXPECT_TRUE(contains(message, ".gz"));
  config_.path = folder_.path("nowhere");
  EXPECT_TRUE(contains(open_error(config_), "nowhere"));
}

TEST_F(Mnist, WrongMagic) {
  Bytes images = idx_images(5);
  images[2] = 0x0d;
  folder_.write("train-images-idx3-ubyte", images);
  EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte"));
  images[0] = 0x50;
  folder_.write("train-images-idx3-ubyte", images);
  EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte"));
  folder_.write("train-images-idx3-ubyte", idx_labels(5));
  EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte"));
}

TEST_F(Mnist, TruncatedFiles) {
  Bytes images = idx_images(5);
  images.pop_back();
  folder_.write("train-images-idx3-ubyte", images);
  EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte"));
  remove("train-images-idx3-ubyte");
  Bytes compressed = gzip(idx_images(5));
  for (const size_t size :
       {compressed.size() - 1, compressed.size() - 9, compressed.size() / 2, size_t{3}, size_t{0}}) {
    folder_.write("train-images-idx3-ubyte.gz", ByteView(compressed).first(size));
    EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte.gz"));
  }
  compressed[compressed.size() - 6] ^= 1;  // the checksum
  folder_.write("train-images-idx3-ubyte.gz", compressed);
  EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte.gz"));
}

TEST_F(Mnist, Mismatches) {
  folder_.write("train-labels-idx1-ubyte", idx_labels(4));
  EXPECT_TRUE(contains(open_error(config_), "train-labels-idx1-ubyte: found 4 labels, expected 5"));
  folder_.write("train-labels-idx1-ubyte", idx_labels(5, 6));
  EXPECT_TRUE(contains(open_error(config_), "label of sample 4: found 10, expected 0 to 9"));
  folder_.write("train-labels-idx1-ubyte", idx_labels(5));
  folder_.write("train-images-idx3-ubyte", idx_images(5, 27, 28));
  EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte"));
  folder_.write("train-images-idx3-ubyte", idx_images(0));
  folder_.write("train-labels-idx1-ubyte", idx_labels(0));
  EXPECT_TRUE(contains(open_error(config_), "train-images-idx3-ubyte"));
}

TEST(MnistReal, OpensWhole) {
  DataConfig config;
  config.dataset = "mnist";
  config.path = testing::shared_data("mnist");
  if (config.path.empty()) GTEST_SKIP() << "skipped: no data";
  auto dataset = open_dataset(config);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->train_count(), 60000);
  EXPECT_EQ((*dataset)->test_count(), 10000);
  // The first labels of the two files, as published with the data.
  const int64_t train_labels[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, test_labels[] = {7, 2, 1, 0, 4, 1, 4, 9, 5, 9};
  ThreadPool pool(1);
  const Batch batch = test_batch(**dataset, 0, 10, pool).value();
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(batch.target.data<int64_t>()[i], test_labels[i]);
    EXPECT_EQ(sample_bytes(**dataset, Split::kTrain, static_cast<int64_t>(i))[0], train_labels[i]);
  }
}

Bytes cifar_records(int64_t n, uint8_t label = 3) {
  Bytes out;
  for (int64_t i = 0; i < n; ++i) {
    out.push_back(label);
    for (int64_t k = 0; k < 3072; ++k) out.push_back(pixel(i, k));
  }
  return out;
}

DataConfig cifar_config(std::vector<std::string> files, std::vector<std::string> test_files) {
  DataConfig config;
  config.dataset = "cifar10";
  config.files = std::move(files);
  config.test_files = std::move(test_files);
  return config;
}

TEST(Cifar10, FilesInTheOrderGiven) {
  TemporaryFolder folder;
  const std::string a = folder.write("a.bin", cifar_records(2, 1)), b = folder.write("b.bin", cifar_records(3, 2));
  auto dataset = open_dataset(cifar_config({b, a}, {a}));
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs(), (std::vector<SampleInput>{{"input", DType::kFloat32, {3, 32, 32}}}));
  EXPECT_EQ((*dataset)->train_count(), 5);
  EXPECT_EQ((*dataset)->test_count(), 2);
  EXPECT_EQ(filled(**dataset, Split::kTrain, 2).label, 2);
  const auto [input, label] = filled(**dataset, Split::kTrain, 4);
  EXPECT_EQ(label, 1);
  const float mean[] = {0.4914f, 0.4822f, 0.4465f}, stddev[] = {0.2470f, 0.2435f, 0.2616f};
  for (int64_t k = 0; k < 3072; ++k) {
    const float scaled = static_cast<float>(pixel(1, k)) / 255.0f;
    const float centred = scaled - mean[k / 1024];
    ASSERT_EQ(input[static_cast<size_t>(k)], centred / stddev[k / 1024]) << "element " << k;
  }
}

TEST(Cifar10, Folders) {
  TemporaryFolder folder;
  DataConfig config = cifar_config({}, {});
  config.path = folder.path();
  EXPECT_TRUE(contains(open_error(config), "data_batch_1.bin"));
  folder.write("small_data_batch_1.bin", cifar_records(1));
  EXPECT_TRUE(contains(open_error(config), "test_batch.bin"));
  folder.write("small_test_batch.bin", cifar_records(1));
  ASSERT_TRUE(open_dataset(config));
  EXPECT_EQ((*open_dataset(config))->train_count(), 1);
  folder.write("data_batch_1.bin", cifar_records(2));
  EXPECT_TRUE(contains(open_error(config), "data_batch_2.bin"));
  for (const char* name : {"data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}) {
    folder.write(name, cifar_records(2));
  }
  EXPECT_TRUE(contains(open_error(config), "test_batch.bin"));
  folder.write("test_batch.bin", cifar_records(4));
  auto dataset = open_dataset(config);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->train_count(), 10);
  EXPECT_EQ((*dataset)->test_count(), 4);
  config.path = folder.path("nowhere");
  EXPECT_TRUE(contains(open_error(config), "nowhere"));
}

TEST(Cifar10, Errors) {
  TemporaryFolder folder;
  const std::string good = folder.write("good.bin", cifar_records(1));
  Bytes bytes = cifar_records(2);
  bytes.pop_back();
  const std::string cut = folder.write("cut.bin", bytes);
  EXPECT_TRUE(contains(open_error(cifar_config({cut}, {good})), "cut.bin"));
  const std::string empty = folder.write("empty.bin", {});
  EXPECT_TRUE(contains(open_error(cifar_config({empty}, {good})), "empty.bin"));
  const std::string label = folder.write("label.bin", cifar_records(1, 10));
  EXPECT_TRUE(contains(open_error(cifar_config({good}, {label})), "label.bin"));
  EXPECT_TRUE(contains(open_error(cifar_config({folder.path("none.bin")}, {good})), "none.bin"));
  EXPECT_TRUE(contains(open_error(cifar_config({good}, {})), "data.test_files"));
  DataConfig both = cifar_config({good}, {good});
  both.path = folder.path();
  EXPECT_TRUE(contains(open_error(both), "data.path"));
}

TEST(Cifar10Real, OpensWhole) {
  DataConfig config = cifar_config({}, {});
  config.path = testing::shared_data("cifar10");
  if (config.path.empty()) GTEST_SKIP() << "skipped: no data";
  auto folder = open_dataset(config);
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ((*folder)->train_count(), 10000);
  EXPECT_EQ((*folder)->test_count(), 10000);
  auto lossless = open_dataset(
      cifar_config({config.path + "/lossless_train_0_3999.bin"}, {config.path + "/jpegsrc_test_batch.bin"}));
  ASSERT_TRUE(lossless) << lossless.error().message;
  EXPECT_EQ((*lossless)->train_count(), 4000);
  // The first training images of the data set: frog, truck, truck, deer, automobile.
  const uint8_t labels[] = {6, 9, 9, 4, 1};
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sample_bytes(**lossless, Split::kTrain, i)[0], labels[i]);
  }
}

}  // namespace
}  // namespace isobit::data
