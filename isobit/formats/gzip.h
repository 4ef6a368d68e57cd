// Bounded decompression of gzip (RFC 1952).
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::formats {

// False in the core-only build, where gunzip returns kUnavailable.
bool gzip_available();

// Whether data starts with gzip's magic.
bool is_gzip(ByteView data);

// All members, one after another. kUnreadable when it is no gzip, is cut short, is damaged (CRC, length, code), is
// followed by anything else, or holds more than max_size bytes; memory stays proportional to what was really
// decompressed.
Expected<Bytes> gunzip(ByteView data, const std::string& name, uint64_t max_size);

// At most the first `size` bytes of what gunzip would give: enough to see what a file says of its own size before it is
// decompressed. Errors: as gunzip, as far as it comes.
Expected<Bytes> gunzip_front(ByteView data, const std::string& name, uint64_t size);

}  // namespace isobit::formats
