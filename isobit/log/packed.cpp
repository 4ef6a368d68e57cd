#include "isobit/log/packed.h"

#include <algorithm>

namespace isobit::log {

namespace {
constexpr uint64_t kPerByte = 5;
constexpr unsigned kStates = 3 * 3 * 3 * 3 * 3;
static_assert(kStates - 1 == kLargestPacked);
}  // namespace

uint64_t packed_size(uint64_t decisions) { return decisions / kPerByte + (decisions % kPerByte != 0 ? 1 : 0); }

void write_packed(ByteWriter& writer, std::span<const uint8_t> decisions) {
  for (size_t at = 0; at < decisions.size(); at += kPerByte) {
    unsigned byte = 0;
    for (size_t i = std::min<size_t>(decisions.size(), at + kPerByte); i-- > at;) {
      ISOBIT_CHECK(decisions[i] <= 2);
      byte = byte * 3 + decisions[i];
    }
    writer.u8(static_cast<uint8_t>(byte));
  }
}

PackedFault unpack(ByteView packed, std::span<uint8_t> decisions) {
  for (size_t i = 0; i < packed.size(); ++i) {
    unsigned byte = packed[i];
    if (byte >= kStates) return PackedFault::kByte;
    const size_t end = std::min<size_t>(decisions.size(), (i + 1) * kPerByte);
    for (size_t at = i * kPerByte; at < end; ++at, byte /= 3) decisions[at] = static_cast<uint8_t>(byte % 3);
    if (byte != 0) return PackedFault::kPadding;
  }
  return PackedFault::kNone;
}

}  // namespace isobit::log
