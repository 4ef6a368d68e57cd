// One encoding of each engagement and offer; checking their signatures must not crash whatever the keys are.
#include <algorithm>

#include "isobit/verify/engagement.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto engagement = verify::decode_engagement(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*engagement), input));
    (void)verify::verify_engagement(*engagement, engagement->terms.client_key);
  }
  if (const auto offer = verify::decode_offer(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*offer), input));
    (void)verify::verify_offer(*offer);
  }
  return 0;
}
