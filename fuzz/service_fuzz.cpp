// What a party says of itself, and pieces of answers: nothing more is held than may be, whatever they are.
#include <algorithm>

#include "isobit/service/pieces.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto about = service::decode_about(input, "input")) {
    ISOBIT_CHECK(service::decode_about(as_bytes(service::encode(*about)), "again") == *about);
  }
  // Pieces: a byte for their length, whose lowest bit says that a message ends.
  constexpr uint64_t kMost = 1000;
  service::Assembly assembly(kMost);
  uint64_t taken = 0;
  bool all = true, ended = true;
  for (size_t at = 0; at < size && all;) {
    const size_t length = std::min<size_t>(data[at] / 2, size - at - 1);
    ended = (data[at] & 1) != 0;
    all = assembly.add(input.subspan(at + 1, length), ended).has_value();
    taken += all ? length : 0;
    at += 1 + length;
  }
  ISOBIT_CHECK(taken <= kMost);
  if (!all) return 0;
  const auto messages = assembly.finish();
  ISOBIT_CHECK(messages.has_value() == ended);
  if (!messages) return 0;
  ISOBIT_CHECK(messages->size() <= service::kMaxSaid);
  for (const Bytes& message : *messages) taken -= message.size();
  ISOBIT_CHECK(taken == 0);
  return 0;
}
