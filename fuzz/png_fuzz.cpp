// Whatever decodes is an image within the limits, and the same one again. Every chunk's checksum is put right first:
// otherwise nearly every mutation would end there.
#include <zlib.h>

#include "isobit/formats/image.h"

using namespace isobit;

namespace {

constexpr int64_t kMaxPixels = 1 << 16;

uint32_t number_at(const Bytes& data, size_t at) {
  return static_cast<uint32_t>(data[at]) << 24 | static_cast<uint32_t>(data[at + 1]) << 16 |
         static_cast<uint32_t>(data[at + 2]) << 8 | data[at + 3];
}

void put_checksums_right(Bytes& data) {
  for (size_t at = 8; at + 12 <= data.size();) {
    const uint32_t size = number_at(data, at);
    if (size > data.size() - at - 12) return;
    const auto sum = static_cast<uint32_t>(crc32(0, data.data() + at + 4, size + 4));
    for (size_t i = 0; i < 4; ++i) data[at + 8 + size + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += size + 12;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (size > file.size()) file.insert(file.end(), data + file.size(), data + size);
  put_checksums_right(file);
  const auto image = formats::decode_image(file, "input", kMaxPixels);
  if (!image) return 0;
  ISOBIT_CHECK(image->shape().rank() == 3 && (image->shape()[0] == 1 || image->shape()[0] == 3));
  ISOBIT_CHECK(image->shape()[1] * image->shape()[2] <= kMaxPixels);
  ISOBIT_CHECK(identical(*image, formats::decode_image(file, "again", kMaxPixels).value()));
  return 0;
}
