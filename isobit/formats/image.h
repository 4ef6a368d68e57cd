// PNG and JPEG files as bytes, each by one fixed rule. No rule is taken from what a file says of gamma, profiles,
// orientation or resolution: such chunks and segments are skipped.
//
// PNG (libpng): grey and colour of 1 to 8 bits; fewer bits are spread to 0..255 (v * 255 / largest), palettes become
// red, green and blue. 16 bits and any transparency are refused. Decoding is exact: there is one right answer.
//
// JPEG (libjpeg-turbo): 8 bits, baseline or progressive, grey, YCbCr or RGB; CMYK is refused. The standard leaves the
// last bit of the inverse transform to the decoder, so it is pinned: the accurate integer transform ("islow"), each
// chroma value repeated for the pixels that it stands for (no interpolation), the integer conversion to RGB. That is
// the same in scalar code and with vector instructions of libjpeg-turbo. What another library would make of it is not
// promised: who hashes what came out finds out.
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::formats {

inline constexpr uint64_t kMaxImageFile = uint64_t{64} << 20;
inline constexpr int64_t kMaxImageSide = 1 << 14;
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 25;
inline constexpr int kMaxJpegScans = 64;  // each costs time for the whole image, however short it is

// False in the core-only build, where decode_image returns kUnavailable.
bool images_available();

// What a file says of itself before its pixels.
struct ImageHeader {
  Shape shape;                  // [channels, height, width], channels 1 (grey) or 3 (red, green, blue)
  uint64_t decoding_bytes = 0;  // at most what decode_image takes of memory, with its result and without the file
};
// Takes a few KiB, however large the image is. Errors: those of decode_image that show before there are pixels.
Expected<ImageHeader> image_header(ByteView data, const std::string& name, int64_t max_pixels = kMaxImagePixels);

// uint8 [channels, height, width], channels 1 (grey) or 3 (red, green, blue). Which format it is say the first bytes.
// What follows the end of the image is not looked at. kUnreadable for anything else, for an image that is cut short or
// that the library complains of, and beyond the limits, which are compared before pixels are allocated.
// Memory: as image_header says, at most about 12 bytes a pixel.
Expected<Tensor> decode_image(ByteView data, const std::string& name, int64_t max_pixels = kMaxImagePixels);

}  // namespace isobit::formats
