// A file of evidence: one encoding, and nothing that is made up convicts anybody.
#include <algorithm>

#include "isobit/verify/evidence.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto evidence = verify::decode_evidence(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*evidence), input));
    (void)verify::verify_evidence(*evidence);
  }
  return 0;
}
