#include "isobit/formats/image.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/formats/image_internal.h"

namespace isobit::formats {
namespace {

constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr uint8_t kJpeg[] = {0xff, 0xd8, 0xff};

bool starts_with(ByteView data, ByteView magic) {
  return data.size() >= magic.size() && std::equal(magic.begin(), magic.end(), data.begin());
}

tl::unexpected<Error> no_image(ByteView data, const std::string& name) {
  return unreadable(text_of(name, ": is neither a PNG nor a JPEG file: found the first bytes ",
                            to_hex(data.first(std::min<size_t>(data.size(), sizeof kPng))), ", expected ", to_hex(kPng),
                            " or ", to_hex(kJpeg), "; convert it"));
}

}  // namespace

bool images_available() { return true; }

Expected<ImageHeader> image_header(ByteView data, const std::string& name, int64_t max_pixels) {
  if (starts_with(data, kPng)) return internal::png_header(data, name, max_pixels);
  if (starts_with(data, kJpeg)) return internal::jpeg_header(data, name, max_pixels);
  return no_image(data, name);
}

Expected<Tensor> decode_image(ByteView data, const std::string& name, int64_t max_pixels) {
  if (starts_with(data, kPng)) return internal::decode_png(data, name, max_pixels);
  if (starts_with(data, kJpeg)) return internal::decode_jpeg(data, name, max_pixels);
  return no_image(data, name);
}

namespace internal {

Status check_image_size(int64_t width, int64_t height, int64_t max_pixels, const std::string& name) {
  if (width >= 1 && height >= 1 && width <= kMaxImageSide && height <= kMaxImageSide && width * height <= max_pixels) {
    return {};
  }
  return unreadable(text_of(name, ": found an image of ", width, " by ", height, " pixels, expected at most ",
                            kMaxImageSide, " a side and ", max_pixels, " in all; make it smaller"));
}

Tensor planes_of(const Bytes& pixels, int64_t channels, int64_t height, int64_t width) {
  Tensor planes(DType::kUint8, Shape{channels, height, width});
  ISOBIT_CHECK(pixels.size() == planes.bytes());
  auto* to = planes.data<uint8_t>();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < height * width; ++i) *to++ = pixels[static_cast<size_t>(i * channels + c)];
  }
  return planes;
}

}  // namespace internal
}  // namespace isobit::formats
