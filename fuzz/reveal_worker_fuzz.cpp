// A worker's answers: its first one, and numbers, as many as the first byte says.
#include "isobit/lab/reveal/worker.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto ready = lab::reveal::decode_ready({data + 1, size - 1}, "input");
  if (ready) ISOBIT_CHECK(ready->at_once >= 1 && ready->version.size() <= lab::reveal::kMostWorkerText);
  const auto numbers = lab::reveal::decode_numbers({data + 1, size - 1}, data[0], "input");
  if (numbers) ISOBIT_CHECK(numbers->size() == data[0]);
  return 0;
}
