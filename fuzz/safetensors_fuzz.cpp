// What decodes must encode, and decode again to the same.
#include "isobit/formats/safetensors.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = formats::decode_safetensors({data, size}, "input");
  if (!file) return 0;
  const auto bytes = formats::encode_safetensors(*file);
  ISOBIT_CHECK(bytes.has_value());
  const auto again = formats::decode_safetensors(*bytes, "again");
  ISOBIT_CHECK(again && again->metadata == file->metadata && again->tensors.size() == file->tensors.size());
  for (size_t i = 0; i < file->tensors.size(); ++i) {
    ISOBIT_CHECK(again->tensors[i].name == file->tensors[i].name);
    ISOBIT_CHECK(identical(again->tensors[i].tensor, file->tensors[i].tensor));
  }
  ISOBIT_CHECK(formats::encode_safetensors(*again).value() == *bytes);
  return 0;
}
