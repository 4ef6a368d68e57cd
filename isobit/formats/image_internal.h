// Between the decoders of images: one file each, since each library has its own way to jump out of an error.
#pragma once

#include "isobit/formats/image.h"

namespace isobit::formats::internal {

// REQUIRES the first bytes of that format.
Expected<ImageHeader> png_header(ByteView data, const std::string& name, int64_t max_pixels);
Expected<ImageHeader> jpeg_header(ByteView data, const std::string& name, int64_t max_pixels);
Expected<Tensor> decode_png(ByteView data, const std::string& name, int64_t max_pixels);
Expected<Tensor> decode_jpeg(ByteView data, const std::string& name, int64_t max_pixels);

// kUnreadable beyond the limits.
Status check_image_size(int64_t width, int64_t height, int64_t max_pixels, const std::string& name);
// [height, width, channels] -> [channels, height, width].
Tensor planes_of(const Bytes& pixels, int64_t channels, int64_t height, int64_t width);

}  // namespace isobit::formats::internal
