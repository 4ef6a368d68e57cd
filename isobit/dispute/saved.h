// What a node keeps of its game: entries one behind the other, each a u64 length and as many bytes. A crash while one
// is written leaves an incomplete one at the end. Internal.
#pragma once

#include <optional>

#include "isobit/base/bytes.h"

namespace isobit::dispute {

// The first entry of `rest`, which then begins behind it; none where there is no whole one, and `rest` stays.
std::optional<ByteView> take_saved_entry(ByteView& rest);
Bytes saved_entry(ByteView content);

}  // namespace isobit::dispute
