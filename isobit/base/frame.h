// The frame of every object that is hashed or signed here: its domain tag, then its version.
#pragma once

#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit {

// text tag, u32 version.
void write_frame(ByteWriter& writer, std::string_view tag, uint32_t version);

// Fails when the tag or the version is another one: a version is one layout. Says "from a newer version: found 3, this
// isobit reads 1; update isobit" or "from an older version: found 1, this isobit reads 2".
Status read_frame(ByteReader& reader, std::string_view tag, uint32_t version);
// Whether the bytes begin with such a frame, of any version.
bool has_tag(ByteView data, std::string_view tag);
// Whether read_frame failed for the version alone: such bytes may be right, and another isobit can tell.
bool is_newer_version(const Error& error);

}  // namespace isobit
