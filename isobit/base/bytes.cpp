#include "isobit/base/bytes.h"

#include "isobit/base/text.h"

namespace isobit {

tl::unexpected<Error> ByteReader::fail(const char* field, std::string_view problem) const {
  return unreadable(text_of(what_, ": field '", field, "' at byte ", offset_, ": ", problem));
}

template <class T>
Expected<T> ByteReader::number(const char* field) {
  if (remaining() < sizeof(T)) {
    return fail(field, text_of("needs ", sizeof(T), " bytes, ", remaining(), " are left; the file is cut short"));
  }
  T value;
  std::memcpy(&value, data_.data() + offset_, sizeof(T));
  offset_ += sizeof(T);
  return value;
}

Expected<uint8_t> ByteReader::u8(const char* field) { return number<uint8_t>(field); }
Expected<uint16_t> ByteReader::u16(const char* field) { return number<uint16_t>(field); }
Expected<uint32_t> ByteReader::u32(const char* field) { return number<uint32_t>(field); }
Expected<uint64_t> ByteReader::u64(const char* field) { return number<uint64_t>(field); }
Expected<int64_t> ByteReader::i64(const char* field) { return number<int64_t>(field); }
Expected<float> ByteReader::f32(const char* field) { return number<float>(field); }
Expected<double> ByteReader::f64(const char* field) { return number<double>(field); }

Expected<bool> ByteReader::boolean(const char* field) {
  ISOBIT_TRY(const uint8_t v, u8(field));
  if (v > 1) return fail(field, text_of("found ", int{v}, ", expected 0 or 1"));
  return v == 1;
}

Expected<ByteView> ByteReader::fixed(const char* field, size_t size) {
  if (remaining() < size) {
    return fail(field, text_of("needs ", size, " bytes, ", remaining(), " are left; the file is cut short"));
  }
  ByteView view = data_.subspan(offset_, size);
  offset_ += size;
  return view;
}

Expected<ByteView> ByteReader::bytes(const char* field, uint64_t max_size) {
  ISOBIT_TRY(const uint64_t size, u64(field));
  if (size > max_size) return fail(field, text_of("length ", size, " is over the limit of ", max_size));
  return fixed(field, static_cast<size_t>(size));
}

Expected<std::string> ByteReader::text(const char* field, uint64_t max_size) {
  ISOBIT_TRY(const ByteView view, bytes(field, max_size));
  return std::string(reinterpret_cast<const char*>(view.data()), view.size());
}

Status ByteReader::finish() {
  if (remaining() != 0) return fail("end", text_of(remaining(), " unexpected bytes follow"));
  return {};
}

std::string to_hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (uint8_t b : bytes) {
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

Expected<Bytes> from_hex(std::string_view text) {
  auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  if (text.size() % 2 != 0) return unreadable("hex text has an odd number of digits");
  Bytes out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return unreadable(text_of("'", text.substr(i, 2), "' is not two hex digits"));
    out.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  return out;
}

}  // namespace isobit
