// NumPy's .npz files (numpy.savez): a zip archive of .npy files.
#pragma once

#include <functional>

#include "isobit/base/file.h"
#include "isobit/tensor/tensor.h"

namespace isobit::lab::measure {

// Each tensor by its name without ".npy", in the order of the archive; one at a time is in memory. kUnreadable, with
// file and entry, for what is no whole zip archive, an entry that is no .npy file (formats/npy.h) or there twice, and
// for more than `most_bytes` of entries together. Errors of `take` end it.
Status read_npz(const fs::path& path, uint64_t most_bytes, const std::function<Status(NamedTensor)>& take);

// The same of bytes; `name` starts the messages.
Status decode_npz(ByteView bytes, const std::string& name, uint64_t most_bytes,
                  const std::function<Status(NamedTensor)>& take);

}  // namespace isobit::lab::measure
