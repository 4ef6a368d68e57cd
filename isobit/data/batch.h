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

// B samples: inputs[i] is [B, shape...] of Dataset::inputs()[i], the target [B, shape...] of Dataset::target(),
// undefined where its kind is kNone.
struct Batch {
  std::vector<Tensor> inputs;
  Tensor target;
  std::vector<int64_t> indices;  // of the samples in their split
};

// The samples sample_index(seed, batch, train_count, step, 0 .. batch-1) of the training split, augmented. Errors:
// those of Dataset::fill, of the sample that stands first in the batch. REQUIRES options.batch >= 1, step >= 0,
// dataset.train_count() >= 1, augmentation only where the dataset takes it.
Expected<Batch> train_batch(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool);
// The same into a batch of these options and of any step, whose memory is taken again where nobody else holds it. After
// an error its contents are of no use.
Status train_batch_into(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool,
                        Batch& batch);

// The test samples [first, first + count) in order, never augmented. REQUIRES them to exist and count >= 1.
Expected<Batch> test_batch(const Dataset& dataset, int64_t first, int64_t count, ThreadPool& pool);

}  // namespace isobit::data
