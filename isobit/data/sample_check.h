// Samples that are read from the disk again and again, held to what they were when the data were hashed.
#pragma once

#include <functional>
#include <span>

#include "isobit/data/dataset.h"

namespace isobit::data {

// Says whether a sample is what it has to be. `stored`: the bytes of Dataset::sample_bytes, piece by piece.
using SampleCheck = std::function<Status(Split split, int64_t index, std::span<const ByteView> stored)>;

// From now on every sample of which any part is read from the disk goes to `check` before the dataset's fill() and
// sample_bytes() give it out, and its error is theirs. The check then decides alone: that the file's times have changed
// is no error any more. It is called from many threads at once. Does nothing where all samples lie in memory. REQUIRES
// that nobody uses the dataset meanwhile.
void check_reads(Dataset& dataset, SampleCheck check);

}  // namespace isobit::data
