#include <gtest/gtest.h>

#include "isobit/formats/cifar.h"
#include "isobit/formats/idx.h"
#include "isobit/formats/malformed_for_test.h"

namespace isobit::formats {
namespace {

auto decode(ByteView data) { return decode_idx(data, "some.file"); }

TEST(Idx, ReadsTheWrittenBytes) {
  const Bytes bytes = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 13, 14, 15};
  const Tensor t = decode(bytes).value();
  EXPECT_EQ(t.shape(), (Shape{2, 3}));
  EXPECT_EQ(t.data<uint8_t>()[5], 15);
  EXPECT_EQ(encode_idx(t), bytes);
}

TEST(Idx, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  const Bytes bytes = encode_idx(Tensor::zeros(DType::kUint8, {3, 4, 5}));
  expect_every_truncation_fails(bytes, decode);
  survive_every_flipped_bit(bytes, decode);
  Bytes longer = bytes;
  longer.push_back(0);
  expect_error(decode(longer), "too long");
}

TEST(Idx, RefusesOtherMagicsTypesAndSizes) {
  expect_error(decode(Bytes{1, 0, 8, 1, 0, 0, 0, 0}), "no IDX file");
  expect_error(decode(Bytes{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}), "gzip");
  expect_error(decode(Bytes{0, 0, 0x0d, 1, 0, 0, 0, 0}), "0x0d");
  expect_error(decode(Bytes{0, 0, 8, 0}), "0 dimensions");
  expect_error(decode(Bytes{0, 0, 8, 9}), "9 dimensions");
  expect_error(decode(Bytes{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}), "overflow");
  expect_error(decode(Bytes{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0}), "overflow");
  expect_error(decode(Bytes{0, 0, 8, 2, 127, 255, 255, 255, 127, 255, 255, 255}), "limit");
}

TEST(Idx, ChecksImagesAndLabels) {
  const Bytes labels = {0, 0, 8, 1, 0, 0, 0, 3, 0, 9, 10};
  EXPECT_TRUE(decode_idx_labels(labels, "some.file", 11));
  expect_error(decode_idx_labels(labels, "some.file", 10), "label of sample 2: found 10, expected 0 to 9");
  expect_error(decode_idx_images(labels, "some.file"), "expected images");
  expect_error(decode_idx_labels(Bytes{0, 0, 8, 1, 0, 0, 0, 0}, "some.file", 10), "at least one");
  EXPECT_TRUE(decode_idx_images(encode_idx(Tensor::zeros(DType::kUint8, {2, 28, 28})), "some.file"));
}

Bytes two_records() {
  Bytes bytes(2 * 3073);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  bytes[0] = 6;
  bytes[3073] = 9;
  return bytes;
}

TEST(Cifar, SplitsRecordsIntoImagesAndLabels) {
  const Bytes bytes = two_records();
  const CifarRecords records = decode_cifar10(bytes, "some.file").value();
  EXPECT_EQ(records.images.shape(), (Shape{2, 3, 32, 32}));
  EXPECT_EQ(records.labels.data<uint8_t>()[1], 9);
  EXPECT_EQ(records.images.data<uint8_t>()[3072], bytes[3074]);
  EXPECT_EQ(encode_cifar10(records), bytes);
}

TEST(Cifar, RefusesPartialRecordsEmptyFilesAndLabelsOverNine) {
  Bytes bytes = two_records();
  for (size_t n = 0; n < bytes.size(); ++n) {
    if (n == 3073) continue;
    EXPECT_FALSE(decode_cifar10(ByteView(bytes).first(n), "some.file")) << n;
  }
  bytes[3073] = 10;
  expect_error(decode_cifar10(bytes, "some.file"), "record 1: found label 10");
}

}  // namespace
}  // namespace isobit::formats
