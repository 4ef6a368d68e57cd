#include <algorithm>

#include "isobit/log/bits_internal.h"

namespace isobit::log::internal {

void BitWriter::bits(uint64_t value, unsigned count) {
  ISOBIT_CHECK(count <= 64 && (count == 64 || value >> count == 0));
  while (count > 0) {
    const unsigned at = static_cast<unsigned>(size_ % 8);
    if (at == 0) out_.push_back(0);
    const unsigned taken = std::min(8 - at, count);
    out_.back() |= static_cast<uint8_t>((value & ((1u << taken) - 1)) << at);
    value >>= taken;  // at most 8
    count -= taken;
    size_ += taken;
  }
}

void BitWriter::unary(uint64_t zeros) {
  size_ += zeros;
  out_.resize(static_cast<size_t>((size_ + 7) / 8), 0);
  bits(1, 1);
}

std::optional<uint64_t> BitReader::bits(unsigned count) {
  ISOBIT_CHECK(count <= 64);
  if (count > remaining()) return std::nullopt;
  uint64_t value = 0;
  for (unsigned done = 0; done < count;) {
    const unsigned taken = std::min(8 - static_cast<unsigned>(position_ % 8), count - done);
    value |= uint64_t{rest_of_byte() & ((1u << taken) - 1)} << done;
    done += taken;
    position_ += taken;
  }
  return value;
}

BitReader::Unary BitReader::unary(uint64_t limit, uint64_t& zeros) {
  uint64_t count = 0;
  while (remaining() > 0) {
    const unsigned left = 8 - static_cast<unsigned>(position_ % 8);
    const unsigned rest = rest_of_byte();
    const unsigned run = rest == 0 ? left : static_cast<unsigned>(std::countr_zero(rest));
    count += run;
    if (count > limit) return Unary::kOverLimit;
    position_ += run;
    if (run < left) {
      ++position_;
      zeros = count;
      return Unary::kRead;
    }
  }
  return Unary::kCut;
}

bool BitReader::zero_padding() {
  if (position_ % 8 == 0) return true;
  const bool zero = rest_of_byte() == 0;
  position_ += 8 - position_ % 8;
  return zero;
}

}  // namespace isobit::log::internal
