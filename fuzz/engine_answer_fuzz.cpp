// What a worker says: an answer, the list of its engines, a request. What is read is written as something that is read
// as the same.
#include "isobit/lab/measure/protocol.h"

using namespace isobit;
using namespace isobit::lab::measure;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto answer = decode_answer({data, size}, "input")) {
    const std::string written = encode(*answer);
    const auto again = decode_answer(as_bytes(written), "again");
    ISOBIT_CHECK(again.has_value() && encode(*again) == written);
  }
  if (const auto request = decode_request({data, size}, "input")) {
    const std::string written = encode(*request);
    const auto again = decode_request(as_bytes(written), "again");
    ISOBIT_CHECK(again.has_value() && encode(*again) == written);
  }
  if (const auto engines = decode_engines({data, size}, "input")) ISOBIT_CHECK(engines->size() <= kMaxEngines);
  return 0;
}
