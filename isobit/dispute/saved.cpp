#include "isobit/dispute/saved.h"

#include <algorithm>
#include <cstring>

namespace isobit::dispute {
namespace {

bool is_zero(ByteView bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

std::optional<ByteView> take_saved_entry(ByteView& rest) {
  uint64_t length = 0;
  if (rest.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, rest.data(), sizeof length);
  if (length > rest.size() - sizeof length) return std::nullopt;
  const ByteView entry = rest.subspan(sizeof length, length);
  rest = rest.subspan(sizeof length + length);
  return entry;
}

bool may_be_torn(ByteView entry, ByteView behind) {
  constexpr size_t kZeros = 8;
  return is_zero(entry.last(std::min(kZeros, entry.size()))) && is_zero(behind);
}

Bytes saved_entry(ByteView content) {
  ByteWriter w;
  w.bytes(content);
  return w.take();
}

}  // namespace isobit::dispute
