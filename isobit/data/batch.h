// The batch of a step: a pure function of (dataset, options, step), whatever the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/base/thread_pool.h"
#include "isobit/data/augment.h"
#include "isobit/data/dataset.h"
#include "isobit/tensor/tensor.h"

namespace isobit::data {

struct BatchOptions {
  uint64_t seed = 0;
  int64_t batch = 0;       // samples per step, >= 1
  AugmentOptions augment;  // parse_augment(config.augment)
};

// B samples. Images: input float32 [B, input_shape...], labels int64 [B].
// Text: input int64 [B, T], labels int64 [B, T], labels[b][t] the byte after input[b][t].
struct Batch {
  Tensor input;
  Tensor labels;
  std::vector<int64_t> indices;  // of the samples in their split
};

// The samples sample_index(seed, batch, train_count, step, 0 .. batch-1) of the training split, augmented.
// REQUIRES options.batch >= 1, step >= 0, dataset.train_count() >= 1, augmentation only for images of rank 3.
Batch train_batch(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool);
// The same into a batch of these options and of any step, whose memory is taken again where nobody else holds it.
void train_batch_into(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool,
                      Batch& batch);

// The test samples [first, first + count) in order, never augmented. REQUIRES them to exist and count >= 1.
Batch test_batch(const Dataset& dataset, int64_t first, int64_t count, ThreadPool& pool);

}  // namespace isobit::data
