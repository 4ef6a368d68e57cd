// A run in parts, and put together and signed again.
#pragma once

#include <vector>

#include "isobit/verify/engagement.h"
#include "isobit/verify/transcript.h"
#include "tests/attacks/mutants.h"

namespace isobit::attacks {

// What is signed again: leaves and segments as bytes, so that they may be anything.
struct Parts {
  Bytes header;  // of the transcript
  std::vector<Bytes> leaves;
  std::vector<Bytes> segments;
  std::vector<uint64_t> heads;  // sizes
};

Parts parts_of(const Honest& honest);

verify::Leaf leaf_of(const Honest& honest, const Bytes& bytes);

// Digests of all files and, where there are parts, the transcript's root, in the form of the honest manifest; not
// signed.
void sign_manifest(const Honest& honest, Files& files, const Parts* parts);
// Signs the manifest as it is.
void sign_text(const Honest& honest, Files& files);
// The transcript, the log, heads over them and the manifest, all signed.
void put_together(const Honest& honest, const Parts& parts, Files& files);

}  // namespace isobit::attacks
