// Canonical encoding: little-endian, lengths first, one encoding per value. Hashed and signed objects use nothing else.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"

namespace isobit {

static_assert(std::endian::native == std::endian::little, "isobit runs on little-endian machines only");

using Bytes = std::vector<uint8_t>;
using ByteView = std::span<const uint8_t>;

inline ByteView as_bytes(std::string_view s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

class ByteWriter {
 public:
  void u8(uint8_t v) { out_.push_back(v); }
  void u16(uint16_t v) { raw(&v, sizeof v); }
  void u32(uint32_t v) { raw(&v, sizeof v); }
  void u64(uint64_t v) { raw(&v, sizeof v); }
  void i64(int64_t v) { raw(&v, sizeof v); }
  void f32(float v) { raw(&v, sizeof v); }   // the bits
  void f64(double v) { raw(&v, sizeof v); }  // the bits
  void boolean(bool v) { u8(v ? 1 : 0); }
  // u64 length, then the bytes.
  void bytes(ByteView v) {
    u64(v.size());
    fixed(v);
  }
  void text(std::string_view v) { bytes(as_bytes(v)); }
  // The bytes alone: for fields whose length the format fixes.
  void fixed(ByteView v) { out_.insert(out_.end(), v.begin(), v.end()); }

  const Bytes& view() const { return out_; }
  Bytes take() { return std::move(out_); }
  size_t size() const { return out_.size(); }

 private:
  void raw(const void* p, size_t n) {
    const auto* b = static_cast<const uint8_t*>(p);
    out_.insert(out_.end(), b, b + n);
  }
  Bytes out_;
};

// Reads what ByteWriter wrote. `what` names the source ("transcript of RUN") and starts every error message.
// An error has read nothing: whoever gets one stops. Nothing is allocated from an unchecked length.
class ByteReader {
 public:
  ByteReader(ByteView data, std::string what) : data_(data), what_(std::move(what)) {}

  Expected<uint8_t> u8(const char* field);
  Expected<uint16_t> u16(const char* field);
  Expected<uint32_t> u32(const char* field);
  Expected<uint64_t> u64(const char* field);
  Expected<int64_t> i64(const char* field);
  Expected<float> f32(const char* field);
  Expected<double> f64(const char* field);
  Expected<bool> boolean(const char* field);  // only 0 and 1 are canonical
  Expected<ByteView> bytes(const char* field, uint64_t max_size);
  Expected<std::string> text(const char* field, uint64_t max_size);
  Expected<ByteView> fixed(const char* field, size_t size);
  // An error unless every byte has been read.
  Status finish();

  size_t offset() const { return offset_; }
  size_t remaining() const { return data_.size() - offset_; }
  tl::unexpected<Error> fail(const char* field, std::string_view problem) const;

 private:
  template <class T>
  Expected<T> number(const char* field);

  ByteView data_;
  std::string what_;
  size_t offset_ = 0;
};

std::string to_hex(ByteView bytes);
// An error when the text is not an even number of hex digits (upper or lower case).
Expected<Bytes> from_hex(std::string_view text);

}  // namespace isobit
