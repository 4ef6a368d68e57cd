#include "isobit/base/text.h"
#include "isobit/formats/image.h"

namespace isobit::formats {

bool images_available() { return false; }

Expected<Tensor> decode_image(ByteView, const std::string& name, int64_t) {
  return unavailable(text_of(name, ": this build reads no images; save them as .npy and use dataset \"npy\""));
}

}  // namespace isobit::formats
