// The header of one plain file in an archive of POSIX ustar, in the one form that isobit writes: nothing in it but name
// and size is free. Byte layout: docs/formats/pack.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::bundle {

inline constexpr size_t kTarBlock = 512;
inline constexpr size_t kMaxTarName = 100;

using TarHeader = std::array<uint8_t, kTarBlock>;

// REQUIRES 1 .. kMaxTarName bytes of name, none of them zero.
TarHeader tar_header(std::string_view name, uint64_t size);

struct TarEntry {
  std::string name;
  uint64_t size = 0;
};
// kUnreadable unless `block` is what tar_header makes of some name and size. The name may be anything else.
Expected<TarEntry> decode_tar_header(ByteView block, const std::string& what);

// What follows the contents up to the next block: zeros.
constexpr size_t tar_padding(uint64_t size) { return static_cast<size_t>(-size % kTarBlock); }

}  // namespace isobit::bundle
