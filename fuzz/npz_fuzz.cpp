// An .npz file that a stranger sent: its tensors hold what their shapes say and no more than was allowed.
#include "isobit/lab/measure/npz.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMost = 1 << 20;
  uint64_t bytes = 0;
  const auto take = [&](const NamedTensor& t) -> Status {
    ISOBIT_CHECK(t.tensor.bytes() == static_cast<uint64_t>(t.tensor.elements()) * size_of(t.tensor.dtype()));
    bytes += t.tensor.bytes();
    return {};
  };
  const Status read = lab::measure::decode_npz({data, size}, "input", kMost, {take});
  ISOBIT_CHECK(bytes <= kMost && (read || !read.error().message.empty()));
  return 0;
}
