#include "isobit/data/dataset.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::contains;
using testing::filled;
using testing::open_error;
using testing::sample_bytes;

std::unique_ptr<Dataset> digits() {
  DataConfig config;
  config.dataset = "digits";
  auto dataset = open_dataset(config);
  EXPECT_TRUE(dataset) << dataset.error().message;
  return std::move(*dataset);
}

TEST(Digits, Shape) {
  const auto dataset = digits();
  EXPECT_EQ(dataset->name(), "digits");
  EXPECT_EQ(dataset->inputs(), (std::vector<SampleInput>{{"input", DType::kFloat32, {1, 8, 8}}}));
  EXPECT_EQ(dataset->target(), (Target{TargetKind::kClass, DType::kInt64, {}, 10}));
  EXPECT_EQ(dataset->train_count(), 1437);
  EXPECT_EQ(dataset->test_count(), 360);
}

// The bytes of docs/formats/samples.md, written out by hand.
TEST(Digits, HeaderBytes) {
  EXPECT_EQ(to_hex(digits()->header_bytes()),
            "69736f62697420646174617365740a"  // magic
            "01000000"                        // version
            "0600000000000000"
            "646967697473"  // name
            "01"
            "05"
            "01"  // images, stored uint8, fed float32
            "03000000"
            "0100000000000000"
            "0800000000000000"
            "0800000000000000"
            "0a00000000000000"
            "9d05000000000000"
            "6801000000000000"
            "0500000000000000"
            "75382f3136");  // u8/16
}

TEST(Digits, EverySplitHoldsEveryClass) {
  const auto dataset = digits();
  for (const Split split : {Split::kTrain, Split::kTest}) {
    std::array<int, 10> seen{};
    for (int64_t i = 0; i < dataset->count(split); ++i) {
      ++seen.at(static_cast<size_t>(filled(*dataset, split, i).label));
    }
    const int64_t fair = dataset->count(split) / 10;
    for (const int n : seen) EXPECT_NEAR(n, fair, fair / 2.0);
  }
}

TEST(Digits, SamplesAndInputsAgree) {
  const auto dataset = digits();
  for (int64_t i = 0; i < dataset->train_count(); ++i) {
    const Bytes sample = sample_bytes(*dataset, Split::kTrain, i);
    const auto [input, label] = filled(*dataset, Split::kTrain, i);
    ASSERT_EQ(sample.size(), 72u);
    EXPECT_EQ(sample[0], label);
    for (size_t k = 0; k < 64; ++k) ASSERT_EQ(input[k], static_cast<float>(sample[8 + k]) / 16.0f);
  }
}

// Lines 1197, 1390 and 192 (from 0) of the published file, found by a separate evaluation of docs/formats/samples.md.
TEST(Digits, GoldenSamples) {
  const auto dataset = digits();
  const auto hex = [&](Split split, int64_t index) { return to_hex(sample_bytes(*dataset, split, index)); };
  EXPECT_EQ(hex(Split::kTrain, 0),
            "0800000000000000"
            "00000d0e0c0f0400000010050510050000000d070f04000000000b1002000000"
            "00020d0a06000000000805010f000000000508011000000000010a1008000000");
  EXPECT_EQ(hex(Split::kTest, 0),
            "0300000000000000"
            "0000091010070000000d0f090c0f0000000504000d0d00000000000b10050000"
            "0000000b100a030000000000040c0d0000000701010c0e0000000910100e0500");
  EXPECT_EQ(hex(Split::kTest, 359),
            "0300000000000000"
            "00010a0f100d030000050e05050f080000000000020f06000000000009100000"
            "00000000091000000000000004100600000002030d0c000000000f0d07000000");
}

std::string gunzip_file(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  char buffer[4096];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return text;
}

// Both splits together are the lines of the published file, each once.
TEST(Digits, ContentIsThePublishedCsv) {
  const std::string path = testing::shared_data("digits/digits.csv.gz");
  if (path.empty()) GTEST_SKIP() << "skipped: no data";
  std::vector<std::string> expected, found;  // as hex
  std::istringstream lines(gunzip_file(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Bytes sample;
    for (std::string field; std::getline(fields, field, ',');) sample.push_back(static_cast<uint8_t>(std::stoi(field)));
    ASSERT_EQ(sample.size(), 65u);
    sample.insert(sample.begin(), {sample.back(), 0, 0, 0, 0, 0, 0, 0});
    sample.pop_back();
    expected.push_back(to_hex(sample));
  }
  const auto dataset = digits();
  for (const Split split : {Split::kTrain, Split::kTest}) {
    for (int64_t i = 0; i < dataset->count(split); ++i) found.push_back(to_hex(sample_bytes(*dataset, split, i)));
  }
  ASSERT_EQ(expected.size(), 1797u);
  EXPECT_NE(expected, found);  // shuffled
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(expected, found);
}

TEST(OpenDataset, ChecksNamesAndFields) {
  DataConfig config;
  config.dataset = "digit";
  EXPECT_TRUE(contains(open_error(config),
                       "data.dataset: found \"digit\", expected digits, mnist, cifar10, npy, images or text"));
  EXPECT_TRUE(contains(open_error(config), "did you mean \"digits\"?"));
  config.dataset = "imagenet-22k";
  EXPECT_TRUE(contains(open_error(config), "choose one of them"));
  config.dataset = "digits";
  config.path = "somewhere";
  EXPECT_TRUE(contains(open_error(config), "data.path: found a value, expected none for dataset \"digits\""));
  config.path.clear();
  config.context = 64;
  EXPECT_TRUE(contains(open_error(config), "data.context: found a value"));
  config.context = 0;
  config.augment = {"blur"};
  EXPECT_TRUE(contains(open_error(config), "data.augment: found \"blur\", expected crop or flip"));
  config.augment = {"crop", "flip"};
  EXPECT_TRUE(open_dataset(config));
}

}  // namespace
}  // namespace isobit::data
