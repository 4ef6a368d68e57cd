// Whole files in and out. Writers never leave half a file: temporary, fsync, rename, fsync of the folder.
#pragma once

#include <filesystem>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit {

namespace fs = std::filesystem;

// kUnreadable when it is missing, not a regular file, or larger than max_size.
Expected<Bytes> read_file(const fs::path& path, uint64_t max_size);

// Replaces `path` in one step and makes it durable. kUnavailable with what is needed when the disk is full or the
// folder cannot be written; then the old file, if any, is untouched.
Status write_file_durably(const fs::path& path, ByteView data);

// mkdir -p. kUnavailable when it cannot be made.
Status make_folder(const fs::path& path);

Status sync_folder(const fs::path& path);

}  // namespace isobit
