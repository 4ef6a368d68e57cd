// A digest of the bits that a platform makes: two steps of a small network that uses convolution, batch norm, pooling,
// clipping, AdamW and augmentation. Platforms of one arithmetic must show one digest.
#pragma once

#include "isobit/commit/hash.h"
#include "isobit/platform/platform.h"

namespace isobit::lab {

Expected<commit::Digest> probe(const platform::Platform& platform);

}  // namespace isobit::lab
