#include "isobit/formats/image.h"

#include <gtest/gtest.h>
#include <png.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "isobit/base/text.h"
#include "isobit/commit/hash.h"
#include "isobit/formats/image_for_test.h"
#include "isobit/formats/malformed_for_test.h"

namespace isobit::formats {
namespace {

auto decode(ByteView data) { return decode_image(data, "some.file"); }

std::vector<uint8_t> values_of(const Tensor& image) {
  const auto values = image.span<uint8_t>();
  return {values.begin(), values.end()};
}

Bytes noise(size_t n) {
  Bytes out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>((i * 2654435761u) >> 13);
  return out;
}

TEST(Png, GreyOfEveryDepthIsSpreadToBytes) {
  EXPECT_TRUE(images_available());
  // One row of 8 pixels: 0 to 7, as far as the depth goes.
  const std::pair<int, Bytes> depths[] = {
      {1, {0b01010101}}, {2, {0b00011011, 0b00011011}}, {4, {0x01, 0x23, 0x45, 0xf7}}};
  const Bytes expected[] = {
      {0, 255, 0, 255, 0, 255, 0, 255}, {0, 85, 170, 255, 0, 85, 170, 255}, {0, 17, 34, 51, 68, 85, 255, 119}};
  for (size_t i = 0; i < 3; ++i) {
    const auto image = decode(png_of({8, 1, depths[i].first, PNG_COLOR_TYPE_GRAY}, depths[i].second));
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->shape(), (Shape{1, 1, 8}));
    EXPECT_EQ(values_of(*image), expected[i]) << depths[i].first << " bits";
  }
  const Bytes bytes = noise(7 * 5);
  EXPECT_EQ(values_of(decode(png_of({7, 5, 8, PNG_COLOR_TYPE_GRAY}, bytes)).value()), bytes);
}

TEST(Png, ColoursBecomePlanesInterlacedOrNot) {
  const Bytes rgb = noise(9 * 6 * 3);
  for (const bool interlaced : {false, true}) {
    const auto image = decode(png_of({9, 6, 8, PNG_COLOR_TYPE_RGB, interlaced}, rgb));
    ASSERT_TRUE(image) << image.error().message;
    ASSERT_EQ(image->shape(), (Shape{3, 6, 9}));
    for (size_t c = 0; c < 3; ++c) {
      for (size_t i = 0; i < 54; ++i) ASSERT_EQ(image->data<uint8_t>()[c * 54 + i], rgb[3 * i + c]);
    }
  }
}

TEST(Png, APaletteBecomesColours) {
  PngForTest png{4, 1, 2, PNG_COLOR_TYPE_PALETTE, false, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const auto image = decode(png_of(png, Bytes{0b00011011}));
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(values_of(*image), (Bytes{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}));
  png.transparency = {0};
  expect_error(decode(png_of(png, Bytes{0b00011011})), "transparency");
}

TEST(Png, RefusesWhatWouldLoseSomething) {
  expect_error(decode(png_of({2, 1, 16, PNG_COLOR_TYPE_GRAY}, noise(4))), "16 bits");
  expect_error(decode(png_of({2, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA}, noise(4))), "transparency");
  expect_error(decode(png_of({2, 1, 8, PNG_COLOR_TYPE_RGB_ALPHA}, noise(8))), "transparency");
}

// 2^25 pixels and one row more, said in a few bytes; and sides that are too long.
TEST(Png, LimitsAreComparedBeforePixelsAreAllocated) {
  Bytes png = png_of({1, 1, 8, PNG_COLOR_TYPE_GRAY}, Bytes{0});
  const auto with_size = [&](uint32_t width, uint32_t height) {
    for (size_t i = 0; i < 4; ++i) {
      png[16 + i] = static_cast<uint8_t>(width >> (24 - 8 * i));
      png[20 + i] = static_cast<uint8_t>(height >> (24 - 8 * i));
    }
    const auto crc = static_cast<uint32_t>(crc32(0, png.data() + 12, 17));
    for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
    return decode(png);
  };
  expect_error(with_size(1 << 14, (1 << 11) + 1), "pixels, expected at most");
  expect_error(with_size((1 << 14) + 1, 1), "some.file");
  expect_error(with_size(0xffffffff, 1), "some.file");
  expect_error(with_size(0, 1), "some.file");
  expect_error(decode_image(png_of({4, 3, 8, PNG_COLOR_TYPE_GRAY}, noise(12)), "some.file", 11), "expected at most");
  EXPECT_TRUE(decode_image(png_of({4, 3, 8, PNG_COLOR_TYPE_GRAY}, noise(12)), "some.file", 12));
}

// What the header promises of memory holds, in a process of its own, since the most that one has ever held is all that
// the system tells.
void expect_no_more_memory_than_said(const Bytes& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto header = image_header(file, "x");
    const bool good = header && decode(file).has_value();
    ::getrusage(RUSAGE_SELF, &after);
    const auto taken = static_cast<uint64_t>(after.ru_maxrss - before.ru_maxrss) << 10;
    const uint64_t said = header ? header->decoding_bytes : 0;
    ::_exit(!good ? 1 : taken > said + said / 4 + (uint64_t{4} << 20) ? 2 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "of the child: 1 in its exit status is no image, 2 is more memory than was said";
}

// It says as much of an image as its pixels do.
TEST(Header, SaysShapeAndMemory) {
  EXPECT_EQ(image_header(png_of({7, 5, 8, PNG_COLOR_TYPE_GRAY}, noise(35)), "x")->shape, (Shape{1, 5, 7}));
  PngForTest palette{4, 1, 2, PNG_COLOR_TYPE_PALETTE, false, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  EXPECT_EQ(image_header(png_of(palette, Bytes{0b00011011}), "x")->shape, (Shape{3, 1, 4}));
  EXPECT_EQ(image_header(jpeg_of(5, 3, 1, noise(15)), "x")->shape, (Shape{1, 3, 5}));
  expect_error(image_header(as_bytes("GIF89a"), "some.file"), "some.file: is neither a PNG nor a JPEG");
  expect_error(image_header(png_of({2, 1, 16, PNG_COLOR_TYPE_GRAY}, noise(4)), "x"), "16 bits");
  expect_error(image_header(jpeg_of(4, 3, 1, noise(12)), "x", 11), "expected at most");
  constexpr int64_t kWidth = 2048, kHeight = 2000;
  const Bytes rgb = noise(3 * kWidth * kHeight);
  for (const Bytes& file :
       {png_of({kWidth, kHeight, 8, PNG_COLOR_TYPE_RGB, true}, rgb), jpeg_of(kWidth, kHeight, 3, rgb),
        jpeg_of(kWidth, kHeight, 3, rgb, JpegForTest::kProgressive)}) {
    ASSERT_GT(image_header(file, "x")->decoding_bytes, 6u * kWidth * kHeight);
    expect_no_more_memory_than_said(file);
  }
}

Bytes chunk_of(const char* name, ByteView data) {
  Bytes out(8);
  for (size_t i = 0; i < 4; ++i) out[i] = static_cast<uint8_t>(data.size() >> (24 - 8 * i));
  std::copy_n(name, 4, out.begin() + 4);
  out.insert(out.end(), data.begin(), data.end());
  const auto crc = static_cast<uint32_t>(crc32(0, out.data() + 4, static_cast<uInt>(out.size() - 4)));
  for (size_t i = 0; i < 4; ++i) out.push_back(static_cast<uint8_t>(crc >> (24 - 8 * i)));
  return out;
}

constexpr size_t kEndOfFirstChunk = 33;  // of the signature and IHDR

// A text of 48 MiB as it is, and sixteen that are decompressed to a MiB each: skipped, whatever is in them.
TEST(Png, WhatIsNoPixelTakesNoMemory) {
  Bytes text(size_t{48} << 20, 'x');
  text[5] = 0;  // ends the keyword
  const Bytes plain(size_t{1} << 20, 'x');
  uLongf size = compressBound(plain.size());
  Bytes packed(size);
  ASSERT_EQ(compress(packed.data(), &size, plain.data(), plain.size()), Z_OK);
  packed.resize(size);
  packed.insert(packed.begin(), {'x', 0, 0});  // keyword, its end, deflate
  for (const char* name : {"tEXt", "iTXt", "iCCP", "eXIf", "sPLT", "teST"}) {
    Bytes png = png_of({4, 3, 8, PNG_COLOR_TYPE_GRAY}, noise(12));
    Bytes more = chunk_of(name, text);
    for (int i = 0; i < 16; ++i) {
      const Bytes chunk = chunk_of(i % 2 ? "zTXt" : "iCCP", packed);
      more.insert(more.end(), chunk.begin(), chunk.end());
    }
    png.insert(png.begin() + kEndOfFirstChunk, more.begin(), more.end());
    expect_no_more_memory_than_said(png);
    EXPECT_EQ(values_of(decode(png).value()), noise(12));
  }
}

// KiB of address space, the most this process has had.
int64_t peak_of_addresses() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t peak = 0;
    if (word == "VmPeak:" && status >> peak) return peak;
  }
  return 0;
}

// Chunks that say they have up to 2 GiB, in a file of a hundred bytes.
TEST(Png, ALengthThatIsOnlySaidIsNotAllocated) {
  const int64_t before = peak_of_addresses();
  for (const char* name : {"tEXt", "zTXt", "iTXt", "iCCP", "eXIf", "sPLT", "PLTE", "tRNS", "IDAT", "teST"}) {
    for (const uint32_t said : {uint32_t{1} << 20, uint32_t{0x7e000000}, uint32_t{0x7fffffff}, uint32_t{0xffffffff}}) {
      Bytes png = png_of({4, 3, 8, PNG_COLOR_TYPE_RGB}, noise(36));
      Bytes chunk = chunk_of(name, as_bytes("x"));
      for (size_t i = 0; i < 4; ++i) chunk[i] = static_cast<uint8_t>(said >> (24 - 8 * i));
      png.insert(png.begin() + kEndOfFirstChunk, chunk.begin(), chunk.end());
      expect_error(decode(png), "is no good PNG file");
    }
  }
  EXPECT_LT(peak_of_addresses() - before, 1 << 18);
}

TEST(Png, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  for (const bool interlaced : {false, true}) {
    const Bytes png = png_of({5, 4, 8, PNG_COLOR_TYPE_RGB, interlaced}, noise(60));
    expect_every_truncation_fails(png, decode);
    survive_every_flipped_bit(png, decode);
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Files and the digests of their pixels by tests/oracles/jpeg_oracle.py, a decoder of its own.
std::vector<std::vector<std::string>> golden() {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/golden/jpeg.txt");
  EXPECT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  std::vector<std::vector<std::string>> cases;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) cases.push_back(words_of(line));
  }
  EXPECT_GE(cases.size(), 6u);
  return cases;
}

TEST(Jpeg, EqualsTheIndependentDecoder) {
  for (const auto& words : golden()) {
    ASSERT_EQ(words.size(), 4u);
    const auto image = decode(from_hex(words[3]).value());
    ASSERT_TRUE(image) << words[0] << ": " << image.error().message;
    EXPECT_EQ(image->shape().text(),
              text_of("[", words[1].substr(0, 1), ", ", words[1].substr(2, words[1].find('x', 2) - 2), ", ",
                      words[1].substr(words[1].find('x', 2) + 1), "]"));
    EXPECT_EQ(commit::hex_of(commit::sha256(image->byte_view())), words[2]) << words[0];
  }
}

TEST(Jpeg, ProgressiveIsTheSameImage) {
  for (const auto& words : golden()) {
    const Bytes baseline = from_hex(words[3]).value(), progressive = as_progressive(baseline);
    EXPECT_NE(baseline, progressive);
    EXPECT_TRUE(identical(decode(baseline).value(), decode(progressive).value())) << words[0];
  }
}

TEST(Jpeg, IsCloseToWhatWasEncoded) {
  Bytes smooth;
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 56; ++x) {
      for (int c = 0; c < 3; ++c) smooth.push_back(static_cast<uint8_t>(2 * x + 2 * y + 20 * c));
    }
  }
  for (const JpegForTest form : {JpegForTest::kBaseline, JpegForTest::kProgressive}) {
    const auto image = decode(jpeg_of(56, 40, 3, smooth, form));
    ASSERT_TRUE(image) << image.error().message;
    ASSERT_EQ(image->shape(), (Shape{3, 40, 56}));
    for (size_t i = 0; i < 40 * 56; ++i) {
      for (size_t c = 0; c < 3; ++c) ASSERT_NEAR(image->data<uint8_t>()[c * 40 * 56 + i], smooth[3 * i + c], 12);
    }
  }
}

TEST(Jpeg, RefusesWhatIsNoGreyOrColour) {
  expect_error(decode(jpeg_of(8, 8, 4, noise(256))), "CMYK");
  expect_error(decode_image(jpeg_of(8, 8, 1, noise(64)), "some.file", 63), "expected at most");
}

TEST(Jpeg, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  const Bytes grey = jpeg_of(9, 9, 1, noise(81)), colour = jpeg_of(17, 9, 3, noise(17 * 9 * 3));
  for (const Bytes& jpeg : {grey, colour, as_progressive(colour)}) {
    expect_every_truncation_fails(jpeg, decode);
    survive_every_flipped_bit(jpeg, decode);
  }
}

// Each scan of a progressive image costs the time of all its pixels, and takes a few bytes of the file.
TEST(Jpeg, RefusesMoreScansThanAnImageHas) {
  const Bytes progressive = as_progressive(jpeg_of(64, 64, 1, Bytes(64 * 64, 100)));
  // The last scan again and again: refinement of a bit that is there already.
  size_t last = 0;
  for (size_t i = 0; i + 1 < progressive.size(); ++i) {
    if (progressive[i] == 0xff && progressive[i + 1] == 0xda) last = i;
  }
  ASSERT_GT(last, 0u);
  Bytes many(progressive.begin(), progressive.end() - 2);
  const Bytes scan(progressive.begin() + static_cast<std::ptrdiff_t>(last), progressive.end() - 2);
  for (int i = 0; i < kMaxJpegScans; ++i) many.insert(many.end(), scan.begin(), scan.end());
  many.insert(many.end(), progressive.end() - 2, progressive.end());
  const auto refused = decode(many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
}

TEST(Image, SaysWhatIsNoImage) {
  expect_error(decode({}), "neither a PNG nor a JPEG");
  expect_error(decode(as_bytes("GIF89a......")), "474946");
  expect_error(decode(as_bytes(std::string_view("\xff\xd8\xff", 3))), "no good JPEG");
  expect_error(decode(as_bytes(std::string_view("\x89PNG\r\n\x1a\n", 8))), "no good PNG");
}

}  // namespace
}  // namespace isobit::formats
