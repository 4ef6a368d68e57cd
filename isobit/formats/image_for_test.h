// Images as files, for tests: written by the libraries that read them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isobit/base/bytes.h"

namespace isobit::formats {

struct PngForTest {
  int64_t width = 0, height = 0;
  int bits = 8;
  int colour = 0;  // PNG_COLOR_TYPE_...
  bool interlaced = false;
  Bytes palette = {};       // red, green, blue of each entry
  Bytes transparency = {};  // tRNS of a palette
};
// pixels: its rows, each packed as PNG has them.
Bytes png_of(const PngForTest& png, ByteView pixels);

enum class JpegForTest { kBaseline, kProgressive };
// Rows of interleaved samples; 1 channel is grey, 3 are RGB, 4 CMYK.
Bytes jpeg_of(int64_t width, int64_t height, int channels, ByteView pixels, JpegForTest form = JpegForTest::kBaseline);
// The same coefficients, progressive: what decodes to the same pixels.
Bytes as_progressive(ByteView jpeg);

}  // namespace isobit::formats
