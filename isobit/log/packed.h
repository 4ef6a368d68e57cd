// Ovt decisions, five to a byte. Byte layout: docs/formats/rounding-log.md.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/base/bytes.h"

namespace isobit::log {

inline constexpr unsigned kLargestPacked = 242;  // of a byte
uint64_t packed_size(uint64_t decisions);
// Each 0, 1 or 2; the digits after the last are 0.
void write_packed(ByteWriter& writer, std::span<const uint8_t> decisions);

enum class PackedFault {
  kNone,
  kByte,     // a byte is no five decisions
  kPadding,  // a digit after the last decision is not 0
};
// Fills `decisions`. REQUIRES packed.size() == packed_size(decisions.size()).
PackedFault unpack(ByteView packed, std::span<uint8_t> decisions);

}  // namespace isobit::log
