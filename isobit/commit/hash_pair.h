// SHA-256 of two messages of one length at once. A processor's SHA instructions each wait for the one before; a second
// message fills the wait. The leaves and nodes of a tree come in such numbers, and hashing them is what a commitment to
// a state costs.
#pragma once

#include "isobit/base/bytes.h"
#include "isobit/commit/hash.h"

namespace isobit::commit {

struct TwoDigests {
  Digest first, second;
};
// {sha256(first), sha256(second)}. Where the processor has no SHA instructions (or is none of x86-64) the library
// hashes one after the other. REQUIRES first.size() == second.size().
TwoDigests sha256_pair(ByteView first, ByteView second);

}  // namespace isobit::commit
