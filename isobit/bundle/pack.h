// A finished run as one file, and back. Byte layout: docs/formats/pack.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/reader.h"

namespace isobit::bundle {

struct PackEntry {
  std::string name;     // one that a finished run has, each at most once, in the order of pack.md
  uint64_t offset = 0;  // of the contents in the file
  uint64_t size = 0;
};
// What is in the file, from its headers alone, at most kMaxCheckpoints + 7 of them. kUnreadable unless it is, from its
// first byte to its last, in the form that pack_run writes. The contents are not looked at.
Expected<std::vector<PackEntry>> list_pack(const ByteSource& file, const std::string& what);

// Set by somebody else, a signal perhaps: what has been written goes again, and the call ends with kUnavailable.
using StopFlag = const std::atomic<bool>*;

struct PackSummary {
  Manifest manifest;
  uint64_t bytes = 0;  // of the one file
};

// Writes the run in `folder` to `out`, whole or not at all; the same run gives the same bytes. Signatures and digests
// are checked on the way, as far as BundleFront does, and every file against the manifest; what is in the files is not.
// kUnreadable: the run is unfinished. kUsage: `out` must not be replaced (see WriteOptions).
Expected<PackSummary> pack_run(const fs::path& folder, const fs::path& out, bool replace, const OpenOptions& options,
                               StopFlag stop = nullptr);

// Makes the folder `out`, whole or not at all; kUsage when there is something of that name. Untrusted input: nothing is
// written before engagement, the manifest's signature and every name and size were checked, and nothing stays unless
// every digest is the manifest's. kUnreadable: not such a file, or damaged in its form. kRejected: what is in it is not
// what was signed for. Takes as much of the disk as the file, and constant memory.
Expected<PackSummary> unpack_run(const fs::path& file, const fs::path& out, const OpenOptions& options,
                                 StopFlag stop = nullptr);

}  // namespace isobit::bundle
