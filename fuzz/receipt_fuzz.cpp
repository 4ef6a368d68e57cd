// One encoding of each receipt; checking its signature, and what follows from it, must not crash whatever it claims.
#include <algorithm>

#include "isobit/verify/receipt.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto receipt = verify::decode_receipt(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*receipt), input));
    (void)verify::verify_receipt(*receipt);
    (void)receipt->id();
    (void)receipt->of.digest();
  }
  return 0;
}
