#include "tests/attacks/bytes.h"

#include <algorithm>

namespace isobit::attacks {
namespace {

constexpr uint64_t kInteresting[] = {
    0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0xffff, 1u << 31, 0xffffffff, uint64_t{1} << 62, uint64_t{1} << 63, ~uint64_t{0}};

void put_number(Bytes& data, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size && at + i < data.size(); ++i) data[at + i] = static_cast<uint8_t>(value >> 8 * i);
}

uint64_t number_at(const Bytes& data, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size && at + i < data.size(); ++i) value |= uint64_t{data[at + i]} << 8 * i;
  return value;
}

void erase(Bytes& data, size_t at, size_t count) {
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
  data.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, data.size() - at)));
}

Bytes piece(const Bytes& data, Random& random) {
  if (data.empty()) return {};
  const size_t at = below(random, data.size()), size = 1 + below(random, std::min<size_t>(64, data.size() - at));
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, data.size() - at)));
}

}  // namespace

void insert(Bytes& data, size_t at, const Bytes& more) {
  data.insert(data.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
}

void change_bytes(Bytes& data, Random& random) {
  if (data.empty()) return data.push_back(static_cast<uint8_t>(random()));
  const size_t room = below(random, 2) == 0 ? data.size() : std::min<size_t>(data.size(), 128);
  const size_t at = below(random, room);
  switch (below(random, 11)) {
    case 0:
    case 1:
    case 2:
      data[at] ^= static_cast<uint8_t>(1u << below(random, 8));
      break;
    case 3:
      data[at] = static_cast<uint8_t>(random());
      break;
    case 4:
      put_number(data, at, kInteresting[below(random, std::size(kInteresting))], size_t{1} << below(random, 4));
      break;
    case 5: {
      const size_t size = size_t{1} << below(random, 4);
      put_number(data, at, number_at(data, at, size) + (below(random, 2) == 0 ? 1 : ~uint64_t{0}), size);
      break;
    }
    case 6:
      erase(data, at, 1 + below(random, 16));
      break;
    case 7:
      insert(data, at, Bytes(1 + below(random, 16), static_cast<uint8_t>(random())));
      break;
    case 8:
      insert(data, at, piece(data, random));
      break;
    case 9:
      data.resize(at);
      break;
    default: {
      const Bytes other = piece(data, random);
      for (size_t i = 0; i < other.size() && at + i < data.size(); ++i) data[at + i] = other[i];
    }
  }
}

}  // namespace isobit::attacks
