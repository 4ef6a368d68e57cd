// The manifest and its signature file: one text, one encoding.
#include <algorithm>

#include "isobit/bundle/manifest.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  (void)bundle::check_manifest_version(input, "input");
  if (const auto manifest = bundle::decode_manifest(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(bundle::encode(*manifest), input));
  }
  if (const auto signature = bundle::decode_manifest_signature(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(bundle::encode(*signature), input));
    (void)bundle::verify_manifest_signature(*signature, input, {}, {}, "input");
  }
  return 0;
}
