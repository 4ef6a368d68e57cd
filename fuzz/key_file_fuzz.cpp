// One text of each key: what decodes must encode to the very same bytes.
#include <algorithm>

#include "isobit/commit/signature.h"

using namespace isobit;
using namespace isobit::commit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const auto key = decode_public_key(input, "input");
  if (key) ISOBIT_CHECK(std::ranges::equal(as_bytes(encode_public_key(*key)), input));
  const auto secret = decode_secret_key(input, "input");
  if (secret) ISOBIT_CHECK(std::ranges::equal(as_bytes(encode_secret_key(*secret)), input));
  ISOBIT_CHECK(!key || !secret);
  return 0;
}
