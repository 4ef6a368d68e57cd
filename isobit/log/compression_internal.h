// One zstd frame, bounded.
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::log::internal {

// One frame, level 3. Empty when the library could not do it.
Bytes zstd_compressed(ByteView data);

// The content of `data`, which must be one frame and nothing else. kRejected when the content has more than max_size
// bytes, kUnreadable when it is no frame, damaged, cut short or followed by anything, kUnavailable without memory.
// Memory: what was really decompressed, and a window of at most 128 MiB.
Expected<Bytes> zstd_content(ByteView data, uint64_t max_size, const std::string& what);

}  // namespace isobit::log::internal
