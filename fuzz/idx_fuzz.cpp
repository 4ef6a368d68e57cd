// IDX has one encoding of each array: what decodes must encode to the very same bytes.
#include <algorithm>

#include "isobit/formats/idx.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const auto tensor = formats::decode_idx(input, "input", 1 << 24);
  (void)formats::decode_idx_images(input, "input", 1 << 24);
  (void)formats::decode_idx_labels(input, "input", 10, 1 << 24);
  if (!tensor) return 0;
  ISOBIT_CHECK(std::ranges::equal(formats::encode_idx(*tensor), input));
  return 0;
}
