// What decodes must encode, and decode again to the same; so Fortran order is rearranged once only.
#include "isobit/formats/npy.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = formats::decode_npy({data, size}, "input", 1 << 24);
  if (!tensor) return 0;
  const auto again = formats::decode_npy(formats::encode_npy(*tensor), "again");
  ISOBIT_CHECK(again && identical(*again, *tensor));
  return 0;
}
