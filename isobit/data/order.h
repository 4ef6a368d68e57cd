// The order of training samples: a keyed permutation per epoch, evaluated one index at a time.
#pragma once

#include <cstdint>

namespace isobit::data {

// The epoch that position `step * batch + j` of the run falls into, and the place inside that epoch.
// Epochs follow each other without a gap: a batch may hold the end of one epoch and the start of the next.
struct EpochPosition {
  int64_t epoch = 0;
  int64_t position = 0;
};
EpochPosition epoch_position(int64_t batch, int64_t count, int64_t step, int64_t j);

// The fewest steps after which every one of `count` samples was taken `epochs` times: epochs * count / batch, rounded
// up. The last batch may hold the first samples of the epoch that would follow; no sample is left out. REQUIRES epochs,
// batch and count > 0, epochs * count + batch < 2^63.
int64_t steps_of_epochs(int64_t epochs, int64_t batch, int64_t count);

// The training sample at position j of the batch of `step`: in [0, count), and each epoch visits every sample once.
// Costs O(1), so that any step can be audited alone.
// REQUIRES batch > 0, 0 < count <= 2^62, step >= 0, 0 <= j < batch, step * batch + j < 2^63, epoch < 2^32.
int64_t sample_index(uint64_t seed, int64_t batch, int64_t count, int64_t step, int64_t j);

}  // namespace isobit::data
