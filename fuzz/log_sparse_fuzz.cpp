// A rounding log of kind sparse: what is accepted fits the schema and encodes to the bytes that were read.
#include "fuzz/log_fuzz.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::try_log_segment({data, size}, log::Kind::kSparse);
  return 0;
}
