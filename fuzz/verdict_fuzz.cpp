// One encoding of each verdict; checking its signature must not crash whatever the key is.
#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/verify/verdict.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto verdict = verify::decode_verdict(input, "input")) {
    ISOBIT_CHECK(has_tag(input, verify::kVerdictTag));
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*verdict), input));
    (void)verify::verify_verdict(*verdict);
  }
  return 0;
}
