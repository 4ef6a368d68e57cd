// Shown values, and lists of the roots of all: what decodes encodes to the very same bytes, and looking for the roots
// that they lead to does not crash, whatever they claim.
#include <algorithm>

#include "isobit/verify/step_trace.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto opening = verify::decode_value_opening(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*opening), input));
    if (opening->roots()) {
      for (const verify::OpenedTile& tile : opening->opened) ISOBIT_CHECK(!verify::elements_of(tile).empty());
    }
  }
  if (const auto list = verify::decode_trace_list(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*list), input));
    ISOBIT_CHECK(!list->first_difference(*list));
    (void)list->root();
  }
  return 0;
}
