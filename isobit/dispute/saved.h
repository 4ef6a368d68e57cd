// What a node keeps of its game: entries one behind the other, each a u64 length and as many bytes. A crash while one
// is written leaves an incomplete one at the end; where the power fails, some file systems leave zeros in place of what
// was not written yet. Nothing was said by such an entry. Internal.
#pragma once

#include <optional>

#include "isobit/base/bytes.h"

namespace isobit::dispute {

// The first entry of `rest`, which then begins behind it; none where there is no whole one, and `rest` stays.
std::optional<ByteView> take_saved_entry(ByteView& rest);
// Whether it ends in zeros, and nothing else comes behind it: then it is an entry only where all of it, its signature
// too, is what a node keeps.
bool may_be_torn(ByteView entry, ByteView behind);
Bytes saved_entry(ByteView content);

}  // namespace isobit::dispute
