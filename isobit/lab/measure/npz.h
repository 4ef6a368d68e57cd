// NumPy's .npz files (numpy.savez): a zip archive of .npy files.
#pragma once

#include <functional>

#include "isobit/base/file.h"
#include "isobit/formats/npy.h"

namespace isobit::lab::measure {

// Who takes tensors one by one.
struct NpzTaker {
  std::function<Status(NamedTensor tensor)> take;
  // Asked of each before it has memory; `entry` names file and entry. Empty: whatever they are.
  std::function<Status(const std::string& entry, const formats::NpyLayout& layout)> wants = {};
};

// Each tensor by its name without ".npy", in the order of the archive; one at a time is in memory, as formats/npy.h
// says of a stream. A name is bytes: of one that the archive calls UTF-8, that text in composed form (NFC).
// kUnreadable, with file and entry, for what is no whole zip archive, an entry that is no .npy file or there twice, and
// for more than `most_bytes` of entries together. Errors of the taker end it.
Status read_npz(const fs::path& path, uint64_t most_bytes, const NpzTaker& taker);

// The same of bytes; `name` starts the messages.
Status decode_npz(ByteView bytes, const std::string& name, uint64_t most_bytes, const NpzTaker& taker);

// A name in UTF-8 as it would be read from an .npz: in composed form (NFC). kUnreadable for one that has none.
Expected<std::string> composed(const std::string& name);

}  // namespace isobit::lab::measure
