#include "isobit/base/text.h"
#include "isobit/formats/image.h"

namespace isobit::formats {

bool images_available() { return false; }

namespace {
tl::unexpected<Error> absent(const std::string& name) {
  return unavailable(text_of(name, ": this build reads no images; save them as .npy and use dataset \"npy\""));
}
}  // namespace

Expected<ImageHeader> image_header(ByteView, const std::string& name, int64_t) { return absent(name); }
Expected<Tensor> decode_image(ByteView, const std::string& name, int64_t) { return absent(name); }

}  // namespace isobit::formats
