#include "isobit/formats/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/formats/malformed_for_test.h"

namespace isobit::formats {
namespace {

Bytes file_of(std::string_view header, size_t data_bytes) {
  ByteWriter out;
  out.text(header);
  for (size_t i = 0; i < data_bytes; ++i) out.u8(0);
  return out.take();
}

auto decode(ByteView data) { return decode_safetensors(data, "some.file"); }

Safetensors example() {
  const float w[] = {1.5f, -0.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  const int64_t step[] = {7};
  const uint8_t codes[] = {1, 2, 3};
  const bool flags[] = {true, false};
  Safetensors file;
  file.tensors = {{"w", Tensor::of<float>({2, 3}, w)},
                  {"codes", Tensor::of<uint8_t>({3}, codes)},
                  {"step", Tensor::of<int64_t>({}, step)},
                  {"a\"\\\n\xc3\xa9", Tensor::of<bool>({2}, flags)},
                  {"empty", Tensor::zeros(DType::kFloat64, {0, 4})}};
  file.metadata = {{"format", "pt"}, {"note", "two\tlines\n"}};
  return file;
}

TEST(Safetensors, PiecesAreTheSameBytesAndStreamingReadsEachOnce) {
  const Safetensors file = example();
  const Bytes bytes = encode_safetensors(file).value();
  const SafetensorsPieces pieces = safetensors_pieces(file).value();
  Bytes joined = pieces.header;
  for (const ByteView piece : pieces.data) joined.insert(joined.end(), piece.begin(), piece.end());
  EXPECT_EQ(joined, bytes);

  uint64_t read = 0;
  std::vector<NamedTensor> tensors;
  const auto from_front = [&](uint64_t offset, std::span<uint8_t> to) -> Status {
    EXPECT_EQ(offset, read) << "in order, and nothing twice";
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    read += to.size();
    return {};
  };
  const auto keep = [&](NamedTensor tensor) -> Status {
    tensors.push_back(std::move(tensor));
    return {};
  };
  const auto any = [](const std::string&, DType, const Shape&) { return Status(); };
  EXPECT_EQ(stream_safetensors(bytes.size(), from_front, {any, keep}, "some.file").value(), file.metadata);
  EXPECT_EQ(read, bytes.size());
  ASSERT_EQ(tensors.size(), file.tensors.size());
  for (const NamedTensor& t : tensors) {
    const auto own = std::ranges::find(file.tensors, t.name, &NamedTensor::name);
    ASSERT_NE(own, file.tensors.end()) << t.name;
    EXPECT_TRUE(identical(t.tensor, own->tensor)) << t.name;
  }
  const auto refuse = [](NamedTensor) -> Status { return rejected("not this one"); };
  read = 0;
  EXPECT_EQ(stream_safetensors(bytes.size(), from_front, {any, refuse}, "some.file").error().message, "not this one");
}

// However large a tensor says that it is, and wherever it stands in the file: nothing of the data has been read.
TEST(Safetensors, WhatIsNotWantedIsNotRead) {
  const Safetensors file = example();
  const Bytes bytes = encode_safetensors(file).value();
  uint64_t data_begin = 0;
  std::memcpy(&data_begin, bytes.data(), sizeof data_begin);
  data_begin += sizeof data_begin;
  for (const NamedTensor& unwanted : file.tensors) {
    uint64_t read = 0;
    const auto read_at = [&](uint64_t offset, std::span<uint8_t> to) -> Status {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
      read = offset + to.size();
      return {};
    };
    const auto wants = [&](const std::string& name, DType dtype, const Shape& shape) -> Status {
      if (name != unwanted.name) return {};
      EXPECT_EQ(dtype, unwanted.tensor.dtype());
      EXPECT_EQ(shape, unwanted.tensor.shape());
      return rejected("not wanted");
    };
    const auto take = [](NamedTensor) { return Status(); };
    EXPECT_EQ(stream_safetensors(bytes.size(), read_at, {wants, take}, "f").error().message, "not wanted");
    EXPECT_EQ(read, data_begin) << unwanted.name;
  }
}

TEST(Safetensors, RoundTripsSortedByName) {
  const Safetensors file = example();
  const Bytes bytes = encode_safetensors(file).value();
  const Safetensors again = decode(bytes).value();
  ASSERT_EQ(again.tensors.size(), file.tensors.size());
  EXPECT_EQ(again.metadata, file.metadata);
  for (const NamedTensor& t : file.tensors) {
    const auto at = std::find_if(again.tensors.begin(), again.tensors.end(), [&](auto& o) { return o.name == t.name; });
    ASSERT_NE(at, again.tensors.end()) << t.name;
    EXPECT_TRUE(identical(at->tensor, t.tensor)) << t.name;
  }
  EXPECT_TRUE(
      std::is_sorted(again.tensors.begin(), again.tensors.end(), [](auto& a, auto& b) { return a.name < b.name; }));
  Safetensors shuffled = file;
  std::reverse(shuffled.tensors.begin(), shuffled.tensors.end());
  EXPECT_EQ(encode_safetensors(shuffled).value(), bytes) << "the order of the tensors reaches the file";
}

TEST(Safetensors, WritesExactlyTheseBytes) {
  Safetensors file;
  const uint8_t codes[] = {9};
  const float w[] = {1.0f};
  file.tensors = {{"b", Tensor::of<float>({1}, w)}, {"a", Tensor::of<uint8_t>({1}, codes)}};
  const std::string header =
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
  ByteWriter expected;
  expected.text(header + std::string((8 - header.size() % 8) % 8, ' '));
  expected.f32(1.0f);
  expected.u8(9);
  EXPECT_EQ(encode_safetensors(file).value(), expected.view());
}

TEST(Safetensors, RefusesNamesItCannotWrite) {
  Safetensors file;
  file.tensors = {{"a", Tensor::scalar(1.0f)}, {"a", Tensor::scalar(2.0f)}};
  EXPECT_EQ(encode_safetensors(file).error().code, ErrorCode::kUsage);
  file.tensors = {{"__metadata__", Tensor::scalar(1.0f)}};
  EXPECT_FALSE(encode_safetensors(file));
  file.tensors = {{"\xff", Tensor::scalar(1.0f)}};
  EXPECT_FALSE(encode_safetensors(file));
  // What could not be read again.
  file.tensors = {{"a", Tensor::zeros(DType::kFloat32, Shape(std::vector<int64_t>(32, 1)))}};
  EXPECT_TRUE(encode_safetensors(file));
  file.tensors = {{"a", Tensor::zeros(DType::kFloat32, Shape(std::vector<int64_t>(33, 1)))}};
  EXPECT_EQ(encode_safetensors(file).error().code, ErrorCode::kUsage);
  file.tensors = {{std::string(9 << 20, 'a'), Tensor::scalar(1.0f)}};
  EXPECT_EQ(encode_safetensors(file).error().code, ErrorCode::kUsage);
  EXPECT_GE(safetensors_header_bytes("a", 32), 32u * 20);
}

TEST(Safetensors, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  const Bytes bytes = encode_safetensors(example()).value();
  expect_every_truncation_fails(bytes, decode);
  survive_every_flipped_bit(bytes, decode);
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(decode(longer));
}

TEST(Safetensors, RefusesWrongOffsets) {
  auto one = [](std::string_view offsets, size_t bytes) {
    return decode(file_of(text_of("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":", offsets, "}}"), bytes));
  };
  EXPECT_TRUE(one("[0,8]", 8));
  expect_error(one("[0,8]", 9), "end at byte 8");
  expect_error(one("[1,9]", 9), "no hole");
  expect_error(one("[0,12]", 12), "needs 8");
  expect_error(one("[8,0]", 8), "do not lie");
  expect_error(one("[0,9223372036854775807]", 8), "do not lie");
  expect_error(one("[0,9223372036854775808]", 8), "2^63");
  expect_error(one("[0]", 8), "two numbers");
  expect_error(one("[0,8,8]", 8), "more than 2");
  const std::string overlap =
      "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}";
  expect_error(decode(file_of(overlap, 6)), "no overlap");
}

TEST(Safetensors, RefusesWrongHeaders) {
  auto header = [](std::string_view text) { return decode(file_of(text, 4)); };
  const std::string fields = "\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]";
  EXPECT_TRUE(header("{\"w\":{" + fields + "}}   "));
  expect_error(header("{\"w\":{" + fields + "},\"w\":{" + fields + "}}"), "occurs twice");
  expect_error(header("{\"w\":{" + fields + ",\"dtype\":\"F32\"}}"), "twice");
  expect_error(header("{\"w\":{" + fields + ",\"extra\":1}}"), "'extra'");
  expect_error(header(" {\"w\":{" + fields + "}}"), "first byte");
  expect_error(header("{\"w\":{" + fields + "}} x"), "after the end");
  expect_error(header("{\"w\":{\"dtype\":\"F32\",\"shape\":[]}}"), "lacks");
  expect_error(header("{\"w\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]}}"), "F8_E4M3");
  expect_error(header("{\"w\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}"), "leading zero");
  expect_error(header("{\"w\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}"), "non-negative");
  expect_error(header("{\"w\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}"), "fraction");
  expect_error(header("{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4611686018427387904],"
                      "\"data_offsets\":[0,4]}}"),
               "overflow");
  expect_error(header("{\"w\":{\"dtype\":\"F32\",\"shape\":[1000000000],\"data_offsets\":[0,4]}}"), "limit");
  expect_error(header("{\"\\ud800\":{" + fields + "}}"), "surrogate");
  expect_error(header("{\"\xff\":{" + fields + "}}"), "UTF-8");
  expect_error(header("{\"__metadata__\":{\"a\":1}}"), "'\"' expected");
  expect_error(header("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}"), "twice");
  expect_error(header("{\"w\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,4]},}"), "expected");
}

TEST(Safetensors, RefusesHugeHeaderLengthsBooleansThatAreNoneAndLargeFiles) {
  Bytes huge = file_of("{}", 0);
  for (size_t i = 0; i < 8; ++i) huge[i] = 0xff;
  expect_error(decode(huge), "header length: found 18446744073709551615, expected at most");
  Bytes flags = file_of("{\"w\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4);
  EXPECT_TRUE(decode(flags));
  flags.back() = 2;
  expect_error(decode(flags), "boolean");
  expect_error(decode_safetensors(flags, "some.file", 20), "over the limit");
}

TEST(Safetensors, ReadsEscapesAsTheCharactersTheyMean) {
  const auto file =
      decode(file_of("{\"\\u0041\\u00e9\\ud83d\\ude00\\/\":{\"dtype\":\"U8\",\"shape\":[0],"
                     "\"data_offsets\":[0,0]}}",
                     0));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->tensors[0].name, "A\xc3\xa9\xf0\x9f\x98\x80/");
}

RC_GTEST_PROP(SafetensorsProperty, AnyTensorsRoundTrip, (const std::vector<std::vector<float>>& values)) {
  Safetensors file;
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor t = Tensor::of<float>({static_cast<int64_t>(values[i].size())}, std::span<const float>(values[i]));
    file.tensors.push_back({text_of("t", 100 + i), t});
  }
  const auto again = decode(encode_safetensors(file).value());
  RC_ASSERT(again->tensors.size() == file.tensors.size());
  for (size_t i = 0; i < values.size(); ++i) RC_ASSERT(identical(again->tensors[i].tensor, file.tensors[i].tensor));
}

TEST(Safetensors, FilesRoundTrip) {
  const fs::path path = fs::path(testing::TempDir()) / "isobit_safetensors_test.safetensors";
  ASSERT_TRUE(write_safetensors(path, example()));
  EXPECT_EQ(encode_safetensors(read_safetensors(path).value()).value(), encode_safetensors(example()).value());
  fs::remove(path);
  EXPECT_EQ(read_safetensors(path).error().code, ErrorCode::kUnreadable);
}

}  // namespace
}  // namespace isobit::formats
