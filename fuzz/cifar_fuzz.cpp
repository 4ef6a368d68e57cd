// One encoding of each batch: what decodes must encode to the very same bytes.
#include <algorithm>

#include "isobit/formats/cifar.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const auto records = formats::decode_cifar10(input, "input");
  if (!records) return 0;
  ISOBIT_CHECK(std::ranges::equal(formats::encode_cifar10(*records), input));
  return 0;
}
