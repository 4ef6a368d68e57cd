// How an evaluation goes over its samples.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/models/network.h"
#include "isobit/train/job.h"

namespace isobit::train {

// Test samples [first, first + count) in one batch. The first `skipped` of them were scored before.
struct SampleRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t skipped = 0;
};

// All that an evaluation of `test_count` samples scores, in their order; ranges of one count stand side by side.
// kUnreadable where the network takes batches of more samples than there are.
Expected<std::vector<SampleRange>> scored_ranges(const Job& job, int64_t test_count, const models::Network& network);

// The one of these that has a sample, for who knows of the network its models::Network::only_batch() alone. REQUIRES a
// sample that is scored, and as many samples as a batch has.
SampleRange range_of_sample(const Job& job, int64_t test_count, int64_t only_batch, int64_t sample);

// What computes the scores: the job's arithmetic, or the one that stands in for it.
const platform::Arithmetic& scoring_arithmetic(const Job& job);

}  // namespace isobit::train
