// An index of checkpoints: whatever is left of it encodes to an index of the same.
#include "isobit/bundle/checkpoint_index.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const bundle::CheckpointIndex index = bundle::decode_checkpoint_index({data, size});
  ISOBIT_CHECK(bundle::decode_checkpoint_index(bundle::encode(index)) == index);
  return 0;
}
