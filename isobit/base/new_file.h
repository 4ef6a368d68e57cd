// Files and folders that must not replace anything: what somebody else made first stays.
#pragma once

#include <sys/types.h>

#include "isobit/base/file.h"

namespace isobit {

// Makes the file in one step and durable; of several processes that try, one succeeds. kUsage when something of that
// name is there, kUnavailable with what is needed when the disk is full or the folder cannot be written. `mode` is
// narrowed by the umask.
Status create_file_durably(const fs::path& path, ByteView data, mode_t mode = 0644);

// mkdir -p with that mode, less the umask, and each folder that is made durable in the one that holds it. What is there
// keeps its mode. kUnavailable when it cannot be made; one that could not be made durable is taken away again.
Status make_folder_durably(const fs::path& path, mode_t mode);

}  // namespace isobit
