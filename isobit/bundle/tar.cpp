#include "isobit/bundle/tar.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::bundle {
namespace {

// Offset and bytes of the fields.
constexpr size_t kSizeAt = 124, kSizeBytes = 12;
constexpr size_t kChecksumAt = 148, kChecksumBytes = 8;
constexpr uint64_t kOctalSizes = uint64_t{1} << 33;  // as many as 11 octal digits can say

void put(TarHeader& header, size_t at, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<ptrdiff_t>(at));
}

std::string octal(uint64_t number, size_t digits) {
  std::string text(digits, '0');
  for (size_t i = digits; i > 0; number >>= 3) text[--i] = static_cast<char>('0' + (number & 7));
  return text;
}

// Octal, or, where that is too short, what GNU tar and others write: the top bit, then the number in base 256.
void put_size(TarHeader& header, uint64_t size) {
  if (size < kOctalSizes) return put(header, kSizeAt, octal(size, kSizeBytes - 1));
  header[kSizeAt] = 0x80;
  for (size_t i = kSizeBytes; i > 1; size >>= 8) header[kSizeAt + --i] = static_cast<uint8_t>(size);
}

uint64_t size_of(ByteView field) {
  uint64_t size = 0;
  if (field[0] == 0x80) {
    for (size_t i = 1; i < kSizeBytes; ++i) size = size << 8 | field[i];
  } else {
    for (size_t i = 0; i + 1 < kSizeBytes; ++i) size = size << 3 | (field[i] & 7);
  }
  return size;
}

}  // namespace

TarHeader tar_header(std::string_view name, uint64_t size) {
  ISOBIT_CHECK(!name.empty() && name.size() <= kMaxTarName && name.find('\0') == std::string_view::npos);
  TarHeader header{};
  put(header, 0, name);
  put(header, 100, "0000644");  // mode
  put(header, 108, "0000000");  // owner
  put(header, 116, "0000000");  // group
  put_size(header, size);
  put(header, 136, "00000000000");  // time
  put(header, kChecksumAt, "        ");
  put(header, 156, "0");  // a plain file
  put(header, 257, "ustar");
  put(header, 263, "00");
  put(header, 329, "0000000");  // device, of no plain file
  put(header, 337, "0000000");
  uint64_t sum = 0;
  for (uint8_t byte : header) sum += byte;
  put(header, kChecksumAt, octal(sum, kChecksumBytes - 2));
  header[kChecksumAt + kChecksumBytes - 2] = 0;
  return header;
}

Expected<TarEntry> decode_tar_header(ByteView block, const std::string& what) {
  if (block.size() != kTarBlock) return unreadable(text_of(what, ": is cut short"));
  const auto end = std::find(block.begin(), block.begin() + kMaxTarName, 0);
  TarEntry entry;
  entry.name.assign(block.begin(), end);
  entry.size = size_of(block.subspan(kSizeAt, kSizeBytes));
  // Whatever else is possible in such a header (links, devices, owners, long names, other numbers) differs here.
  if (entry.name.empty() || !std::ranges::equal(block, tar_header(entry.name, entry.size))) {
    return unreadable(text_of(what, ": is not the header of a plain file as isobit pack writes it"));
  }
  return entry;
}

}  // namespace isobit::bundle
