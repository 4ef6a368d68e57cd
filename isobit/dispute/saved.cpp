#include "isobit/dispute/saved.h"

#include <cstring>

namespace isobit::dispute {

std::optional<ByteView> take_saved_entry(ByteView& rest) {
  uint64_t length = 0;
  if (rest.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, rest.data(), sizeof length);
  if (length > rest.size() - sizeof length) return std::nullopt;
  const ByteView entry = rest.subspan(sizeof length, length);
  rest = rest.subspan(sizeof length + length);
  return entry;
}

Bytes saved_entry(ByteView content) {
  ByteWriter w;
  w.bytes(content);
  return w.take();
}

}  // namespace isobit::dispute
