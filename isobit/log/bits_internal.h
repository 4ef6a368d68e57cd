// Bits in bytes, the least significant bit of the first byte first.
#pragma once

#include <cstdint>
#include <optional>

#include "isobit/base/bytes.h"

namespace isobit::log::internal {

class BitWriter {
 public:
  // The low `count` bits of value, lowest first. REQUIRES count <= 64, value < 2^count.
  void bits(uint64_t value, unsigned count);
  // `zeros` bits 0, then a bit 1.
  void unary(uint64_t zeros);
  // The unused bits of the last byte are 0.
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
  uint64_t size_ = 0;  // in bits
};

// Reads what BitWriter wrote; every read past the end fails.
class BitReader {
 public:
  explicit BitReader(ByteView data) : data_(data) {}

  // REQUIRES count <= 64.
  std::optional<uint64_t> bits(unsigned count);
  enum class Unary { kRead, kCut, kOverLimit };
  // kOverLimit as soon as more than `limit` zeros come. `zeros` is set by kRead alone.
  Unary unary(uint64_t limit, uint64_t& zeros);
  // Whether the unread bits of the byte begun are all 0; skips them.
  bool zero_padding();

  uint64_t remaining() const { return uint64_t{8} * data_.size() - position_; }  // bits
  size_t bytes_begun() const { return static_cast<size_t>((position_ + 7) / 8); }

 private:
  // The rest of the current byte, its next bit lowest. REQUIRES remaining() > 0.
  unsigned rest_of_byte() const { return unsigned{data_[position_ / 8]} >> position_ % 8; }

  ByteView data_;
  uint64_t position_ = 0;  // in bits
};

}  // namespace isobit::log::internal
