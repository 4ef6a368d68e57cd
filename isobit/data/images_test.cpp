// Folders of images, written here.
#include <gtest/gtest.h>
#include <png.h>
#include <sys/resource.h>
#include <zlib.h>

#include "isobit/base/text.h"
#include "isobit/data/batch.h"
#include "isobit/data/resize.h"
#include "isobit/data/testing.h"
#include "isobit/formats/image.h"
#include "isobit/formats/image_for_test.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::filled;
using testing::open_error;
using testing::sample_bytes;
using testing::TemporaryFolder;

Bytes pixels(size_t n, uint8_t first) {
  Bytes out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(first + 3 * i);
  return out;
}

Bytes grey_png(int64_t width, int64_t height, uint8_t first) {
  return formats::png_of({width, height, 8, PNG_COLOR_TYPE_GRAY}, pixels(static_cast<size_t>(width * height), first));
}
Bytes colour_png(int64_t width, int64_t height, uint8_t first) {
  return formats::png_of({width, height, 8, PNG_COLOR_TYPE_RGB},
                         pixels(static_cast<size_t>(3 * width * height), first));
}

class Images : public ::testing::Test {
 protected:
  Images() {
    config_.dataset = "images";
    config_.path = folder_.path();
    // Not in the order of their names.
    put("train/dog/2.png", grey_png(4, 3, 20));
    put("train/cat/b.png", grey_png(4, 3, 11));
    put("train/cat/a.PNG", grey_png(4, 3, 10));
    put("train/Zebra/x.png", grey_png(4, 3, 30));
  }
  void put(const std::string& name, ByteView bytes) {
    fs::create_directories(fs::path(folder_.path(name)).parent_path());
    folder_.write(name, bytes);
  }
  void remove(const std::string& name) { fs::remove_all(folder_.path(name)); }

  TemporaryFolder folder_;
  DataConfig config_;
};

TEST_F(Images, AreSortedByTheBytesOfTheirNames) {
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs(), (std::vector<SampleInput>{{"input", DType::kFloat32, {1, 3, 4}}}));
  EXPECT_EQ((*dataset)->target(), (Target{TargetKind::kClass, DType::kInt64, {}, 3}));
  EXPECT_EQ((*dataset)->train_count(), 4);
  EXPECT_EQ((*dataset)->test_count(), 0);
  const std::pair<int64_t, uint8_t> expected[] = {{0, 30}, {1, 10}, {1, 11}, {2, 20}};
  for (int64_t i = 0; i < 4; ++i) {
    const auto [label, first] = expected[i];
    ByteWriter sample;
    sample.i64(label);
    sample.fixed(pixels(12, first));
    EXPECT_EQ(sample_bytes(**dataset, Split::kTrain, i), sample.view());
    const auto [input, fed_label] = filled(**dataset, Split::kTrain, i);
    EXPECT_EQ(fed_label, label);
    for (size_t k = 0; k < 12; ++k) EXPECT_EQ(input[k], static_cast<float>(sample.view()[8 + k]) / 255.0f);
  }
}

TEST_F(Images, OfTheTestHaveTheNumbersOfTheTraining) {
  put("test/dog/9.png", grey_png(4, 3, 99));
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  ASSERT_EQ((*dataset)->test_count(), 1);
  EXPECT_EQ(filled(**dataset, Split::kTest, 0).label, 2);
  put("test/emu/9.png", grey_png(4, 3, 99));
  EXPECT_TRUE(contains(open_error(config_), "test/emu: found a class that"));
}

TEST_F(Images, HiddenFilesAreNoImages) {
  put("train/.DS_Store", as_bytes("x"));
  put("train/dog/.thumbs", as_bytes("x"));
  EXPECT_TRUE(open_dataset(config_));
}

TEST_F(Images, JpegsAndPngsMayLieSideBySide) {
  const Bytes jpeg = formats::jpeg_of(4, 3, 1, pixels(12, 7));
  put("train/dog/1.jpeg", jpeg);
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  const Tensor decoded = formats::decode_image(jpeg, "jpeg").value();
  const Bytes sample = sample_bytes(**dataset, Split::kTrain, 3);
  EXPECT_EQ(std::memcmp(sample.data() + 8, decoded.raw(), 12), 0);
}

TEST_F(Images, AreFedAsTheJobSays) {
  config_.bytes = ByteRule::kAsStored;
  const auto bytes = open_dataset(config_);
  EXPECT_EQ((*bytes)->inputs()[0].dtype, DType::kUint8);
  ThreadPool pool(1);
  const Batch batch = train_batch(**bytes, {.seed = 1, .batch = 2, .augment = {}}, 0, pool).value();
  const Bytes sample = sample_bytes(**bytes, Split::kTrain, batch.indices[1]);
  EXPECT_EQ(testing::row_of<uint8_t>(batch.inputs[0], 1), Bytes(sample.begin() + 8, sample.end()));
  config_.augment = {"flip"};
  EXPECT_TRUE(contains(open_error(config_), "data.augment"));
  config_.bytes = ByteRule::kFloat32;
  const auto floats = open_dataset(config_);
  ASSERT_TRUE(floats) << floats.error().message;
  EXPECT_EQ(filled(**floats, Split::kTrain, 0).input[1], 33);
}

TEST_F(Images, OfAnotherSizeAreAnErrorOrBroughtToOne) {
  put("train/dog/3.png", grey_png(5, 3, 0));
  const std::string message = open_error(config_);
  EXPECT_TRUE(contains(message, "train/dog/3.png: found a grey image of 5 by 3 pixels, expected"));
  EXPECT_TRUE(contains(message, "data.height"));
  config_.height = 2;
  config_.width = 3;
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs()[0].shape, (std::vector<int64_t>{1, 2, 3}));
  const Tensor resized = resized_by_area(Tensor::of<uint8_t>({1, 3, 5}, pixels(15, 0)), 2, 3);
  const Bytes sample = sample_bytes(**dataset, Split::kTrain, 4);
  ASSERT_EQ(sample.size(), 8u + 6u);
  EXPECT_EQ(std::memcmp(sample.data() + 8, resized.raw(), 6), 0);
}

TEST_F(Images, ColoursAndGreysMeetAsTheJobSays) {
  put("train/dog/3.png", colour_png(4, 3, 0));
  EXPECT_TRUE(contains(open_error(config_), "data.channels"));
  config_.channels = 1;
  EXPECT_TRUE(contains(open_error(config_), "3.png: found a colour image, expected grey"));
  config_.channels = 3;
  const auto dataset = open_dataset(config_);
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ((*dataset)->inputs()[0].shape, (std::vector<int64_t>{3, 3, 4}));
  const Bytes grey = sample_bytes(**dataset, Split::kTrain, 0), colour = sample_bytes(**dataset, Split::kTrain, 4);
  for (size_t k = 0; k < 12; ++k) {
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(grey[8 + 12 * c + k], 30 + 3 * k);
      EXPECT_EQ(colour[8 + 12 * c + k], static_cast<uint8_t>(3 * (3 * k + c)));
    }
  }
}

TEST_F(Images, WhatIsNoneIsNamed) {
  put("train/dog/note.txt", as_bytes("x"));
  EXPECT_TRUE(contains(open_error(config_), "train/dog/note.txt: found something"));
  remove("train/dog/note.txt");
  put("train/list.csv", as_bytes("x"));
  EXPECT_TRUE(contains(open_error(config_), "train/list.csv: found a file"));
  remove("train/list.csv");
  fs::create_directories(folder_.path("train/empty"));
  EXPECT_TRUE(contains(open_error(config_), "train/empty: found no image"));
  remove("train/empty");
  Bytes cut = grey_png(4, 3, 1);
  cut.resize(cut.size() - 20);
  put("train/dog/4.png", cut);
  EXPECT_TRUE(contains(open_error(config_), "train/dog/4.png: is no good PNG file"));
  put("train/dog/4.png", as_bytes("GIF89a"));
  EXPECT_TRUE(contains(open_error(config_), "neither a PNG nor a JPEG"));
  fs::remove(folder_.path("train/dog/4.png"));
  fs::create_directories(folder_.path("train/dog/4.png"));
  EXPECT_TRUE(contains(open_error(config_), "a folder"));
  remove("train");
  EXPECT_TRUE(contains(open_error(config_), "train: cannot list"));
  config_.path.clear();
  EXPECT_TRUE(contains(open_error(config_), "data.path: found nothing"));
}

// A few bytes may hold a large image: how much all of them take is asked when the first has been seen.
TEST_F(Images, AreNotReadBeyondTheBudget) {
  uint64_t largest = 0;
  for (const uint8_t first : {10, 11, 20, 30}) {
    const Bytes file = grey_png(4, 3, first);
    largest = std::max(largest, file.size() + formats::image_header(file, "x")->decoding_bytes);
  }
  EXPECT_TRUE(open_dataset(config_, 4 * 12 + largest));
  const auto refused = [&](uint64_t room) {
    const auto dataset = open_dataset(config_, room);
    EXPECT_FALSE(dataset);
    if (dataset) return std::string();
    EXPECT_EQ(dataset.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(contains(dataset.error().message, "--max-memory"));
    return dataset.error().message;
  };
  EXPECT_TRUE(contains(refused(4 * 12 + largest - 1), ".png: takes, to be read,"));
  EXPECT_TRUE(contains(refused(4 * 12), ".png: takes, to be read,"));
  const uint64_t file = grey_png(4, 3, 30).size();
  ASSERT_GT(file, 4u * 12u);
  EXPECT_TRUE(contains(refused(file - 1), "x.png: takes, to be read,"));
}

// Pixels that nobody has room for: those that a few bytes speak of, and those that the job wants them brought to.
TEST_F(Images, ThatAreTooLargeAreRefusedBeforeThereArePixels) {
  constexpr uint64_t kRoom = uint64_t{20} << 20;
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto refused = [&] {
    const auto dataset = open_dataset(config_, kRoom);
    EXPECT_FALSE(dataset);
    if (dataset) return std::string();
    EXPECT_EQ(dataset.error().code, ErrorCode::kUnavailable) << dataset.error().message;
    return dataset.error().message;
  };
  config_.height = config_.width = 1 << 13;
  EXPECT_TRUE(contains(refused(), "train: holds 268 MB"));
  config_.height = config_.width = 2;
  Bytes large = grey_png(1, 1, 0);  // 4096 a side, and not the pixels
  for (const size_t side : {16, 20}) {
    large[side + 2] = 0x10;
    large[side + 3] = 0;
  }
  const auto crc = static_cast<uint32_t>(::crc32(0, large.data() + 12, 17));
  for (size_t i = 0; i < 4; ++i) large[29 + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
  put("train/Zebra/x.png", large);
  EXPECT_TRUE(contains(refused(), "x.png: takes, to be read, 33"));
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 << 10) << "KiB";
}

}  // namespace
}  // namespace isobit::data
