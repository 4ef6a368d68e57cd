// What each checkpoint of an unfinished run was when it was written, so that a bit that flips on the disk afterwards is
// noticed before anything is computed from it. Byte layout: docs/formats/bundle.md.
#pragma once

#include <cstdint>
#include <map>

#include "isobit/base/bytes.h"
#include "isobit/bundle/manifest.h"
#include "isobit/commit/hash.h"

namespace isobit::bundle {

struct CheckpointRecord {
  FileEntry file;               // size and SHA-256 of the whole file
  commit::Digest state_root{};  // of the state in it
  bool operator==(const CheckpointRecord&) const = default;
};

// By step.
using CheckpointIndex = std::map<uint64_t, CheckpointRecord>;

Bytes encode(const CheckpointIndex& index);
// Never fails: a record that is damaged, repeated or cut short is left out and takes no other with it, and bytes of
// another kind have none. A checkpoint without a record is one that nothing vouches for.
CheckpointIndex decode_checkpoint_index(ByteView data);

}  // namespace isobit::bundle
