#include "isobit/formats/npy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "isobit/base/text.h"
#include "isobit/formats/malformed_for_test.h"

namespace isobit::formats {
namespace {

auto decode(ByteView data) { return decode_npy(data, "some.file"); }

Bytes file_of(int version, std::string_view header, size_t data_bytes) {
  ByteWriter out;
  out.fixed(as_bytes(std::string_view("\x93NUMPY", 6)));
  out.u8(static_cast<uint8_t>(version));
  out.u8(0);
  if (version == 1) {
    out.u16(static_cast<uint16_t>(header.size()));
  } else {
    out.u32(static_cast<uint32_t>(header.size()));
  }
  out.fixed(as_bytes(header));
  for (size_t i = 0; i < data_bytes; ++i) out.u8(static_cast<uint8_t>(i));
  return out.take();
}

TEST(Npy, RoundTripsEveryType) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 0}, Shape{2, 1, 2}}) {
    for (uint8_t d = 1; d <= 12; ++d) {
      Tensor t = Tensor::zeros(DType{d}, shape);
      if (t.bytes() > 0) static_cast<uint8_t*>(t.raw())[0] = 1;
      const Bytes bytes = encode_npy(t);
      EXPECT_EQ((bytes.size() - t.bytes()) % 64, 0u);
      const auto again = decode(bytes);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_TRUE(identical(*again, t)) << shape.text() << name_of(DType{d});
    }
  }
}

TEST(Npy, ReadsAllVersionsKeyOrdersAndQuotes) {
  for (int version : {1, 2, 3}) {
    const auto t = decode(file_of(version, "{\"shape\":(2,2),'fortran_order':False,'descr':'|u1'}\n", 4));
    ASSERT_TRUE(t) << t.error().message;
    EXPECT_EQ(t->shape(), (Shape{2, 2}));
    EXPECT_EQ(t->data<uint8_t>()[3], 3);
  }
}

TEST(Npy, RearrangesFortranOrder) {
  const auto t = decode(file_of(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", 24));
  ASSERT_TRUE(t) << t.error().message;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) EXPECT_EQ(t->data<uint8_t>()[(i * 3 + j) * 4 + k], i + 2 * (j + 3 * k));
    }
  }
}

TEST(Npy, SaysWhereTheElementsOfAFileLie) {
  std::string pattern = (fs::temp_directory_path() / "isobit_npy_XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern, path = folder / "a.npy";
  const auto layout_of = [&](const Bytes& bytes) {
    EXPECT_TRUE(write_file_durably(path, bytes));
    return read_npy_layout(PlainFile::open(path, Links::kFollow).value(), "some.file");
  };
  const int16_t values[] = {1, 2, 3, 4, 5, 6};
  const Bytes bytes = encode_npy(Tensor::of<int16_t>({3, 2}, values));
  const NpyLayout layout = layout_of(bytes).value();
  EXPECT_EQ(layout.dtype, DType::kInt16);
  EXPECT_EQ(layout.shape, (Shape{3, 2}));
  EXPECT_FALSE(layout.fortran_order);
  EXPECT_EQ(layout.bytes(), 12u);
  EXPECT_EQ(layout.offset + layout.bytes(), bytes.size());
  EXPECT_EQ(std::memcmp(bytes.data() + layout.offset, values, 12), 0);
  EXPECT_TRUE(layout_of(file_of(1, "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 2), }", 8))->fortran_order);
  expect_every_truncation_fails(bytes, [&](ByteView cut) { return layout_of({cut.begin(), cut.end()}); });
  // More than a machine has is no reason to refuse: nothing of it is held.
  constexpr uint64_t kLarge = 2 * kNpyMaxBytes;
  const std::string header = text_of("{'descr': '|u1', 'fortran_order': False, 'shape': (", kLarge, ",), }");
  ASSERT_TRUE(write_file_durably(path, file_of(1, header, 0)));
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(fs::file_size(path) + kLarge)), 0);
  EXPECT_EQ(read_npy_layout(PlainFile::open(path, Links::kFollow).value(), "some.file")->bytes(), kLarge);
  expect_error(layout_of(file_of(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }", 0)),
               "some.file: shape");
  fs::remove_all(folder);
}

TEST(Npy, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const Bytes bytes = encode_npy(Tensor::of<float>({2, 3}, values));
  expect_every_truncation_fails(bytes, decode);
  survive_every_flipped_bit(bytes, decode);
  Bytes longer = bytes;
  longer.push_back(0);
  expect_error(decode(longer), "expected 24");
}

TEST(Npy, RefusesWhatItDoesNotKnow) {
  auto header = [](std::string_view text) { return decode(file_of(1, text, 4)); };
  auto with = [&](std::string_view descr, std::string_view shape) {
    return header(text_of("{'descr': ", descr, ", 'fortran_order': False, 'shape': ", shape, ", }"));
  };
  EXPECT_TRUE(with("'<f4'", "()"));
  expect_error(with("'>f4'", "()"), "big-endian");
  EXPECT_TRUE(with("'<f2'", "(2,)"));
  expect_error(with("'<f16'", "(1,)"), "'<f16' is not supported");
  expect_error(with("'<c8'", "(1,)"), "'<c8' is not supported");
  expect_error(with("'|O'", "(1,)"), "not supported");
  expect_error(with("[('a', '<f4')]", "(1,)"), "structured");
  expect_error(with("'<f4'", "(1)"), "',' expected");
  expect_error(with("'<f4'", "(-1,)"), "whole number");
  expect_error(with("'<f4'", "(99999999999999999999,)"), "2^63");
  expect_error(with("'<f4'", "(4611686018427387904, 4611686018427387904)"), "overflow");
  expect_error(with("'<f4'", "(1000000000000,)"), "limit");
  expect_error(with("'<f4'", text_of("(", std::string(99, '1'), ",)")), "2^63");
  expect_error(with("'|b1'", "(4,)"), "boolean");
  expect_error(header("{'descr': '<f4', 'fortran_order': False, }"), "missing");
  expect_error(header("{'descr': '<f4', 'descr': '<f4', }"), "twice");
  expect_error(header("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}"), "True or False");
  std::string deep = "(";
  for (int i = 0; i < 33; ++i) deep += "1,";
  expect_error(with("'<f4'", deep + ")"), "dimensions");
  expect_error(decode(file_of(4, "{}", 0)), "version 4.0");
  expect_error(decode(as_bytes("PK\x03\x04 a zip file")), "is no .npy file");
  Bytes huge = file_of(2, "{}", 0);
  for (size_t i = 8; i < 12; ++i) huge[i] = 0xff;
  expect_error(decode(huge), "at most 65536");
}

RC_GTEST_PROP(NpyProperty, AnyVectorRoundTrips, (const std::vector<int64_t>& values)) {
  const Tensor t = Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
  RC_ASSERT(identical(decode(encode_npy(t)).value(), t));
}

}  // namespace
}  // namespace isobit::formats
