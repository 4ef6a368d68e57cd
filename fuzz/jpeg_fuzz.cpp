// Whatever decodes is an image within the limits, and the same one again.
#include "isobit/formats/image.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMaxPixels = 1 << 16;
  Bytes file = {0xff, 0xd8, 0xff};
  if (size > file.size()) file.insert(file.end(), data + file.size(), data + size);
  const auto image = formats::decode_image(file, "input", kMaxPixels);
  if (!image) return 0;
  ISOBIT_CHECK(image->shape().rank() == 3 && (image->shape()[0] == 1 || image->shape()[0] == 3));
  ISOBIT_CHECK(image->shape()[1] * image->shape()[2] <= kMaxPixels);
  ISOBIT_CHECK(identical(*image, formats::decode_image(file, "again", kMaxPixels).value()));
  return 0;
}
