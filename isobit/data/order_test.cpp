#include "isobit/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace isobit::data {
namespace {

std::vector<int64_t> epoch_indices(uint64_t seed, int64_t batch, int64_t count, int64_t epoch) {
  std::vector<int64_t> indices;
  for (int64_t place = epoch * count; place < (epoch + 1) * count; ++place) {
    indices.push_back(sample_index(seed, batch, count, place / batch, place % batch));
  }
  return indices;
}

TEST(Order, EveryEpochCoversEverySampleOnce) {
  for (const int64_t count : {1, 2, 3, 7, 16, 17, 100, 1437, 4096}) {
    for (const int64_t batch : {1, 3, 32, 5000}) {
      for (const int64_t epoch : {0, 1, 5}) {
        std::vector<int64_t> indices = epoch_indices(7, batch, count, epoch);
        std::sort(indices.begin(), indices.end());
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(indices[static_cast<size_t>(i)], i)
              << "count " << count << " batch " << batch << " epoch " << epoch;
        }
      }
    }
  }
}

TEST(Order, BatchSizeOnlyCutsTheSameSequence) {
  for (int64_t epoch : {0, 3}) EXPECT_EQ(epoch_indices(9, 1, 101, epoch), epoch_indices(9, 32, 101, epoch));
}

// By counting how often each sample comes.
TEST(Order, StepsOfEpochsAreTheFewestThatLeaveNothingOut) {
  for (const int64_t count : {1, 2, 7, 16, 17, 100}) {
    for (const int64_t batch : {1, 3, 16, 250}) {
      for (const int64_t epochs : {1, 2, 5}) {
        const int64_t steps = steps_of_epochs(epochs, batch, count);
        const auto least_taken = [&](int64_t after) {
          std::vector<int64_t> taken(static_cast<size_t>(count), 0);
          for (int64_t place = 0; place < after * batch; ++place) {
            ++taken[static_cast<size_t>(sample_index(7, batch, count, place / batch, place % batch))];
          }
          return *std::min_element(taken.begin(), taken.end());
        };
        EXPECT_GE(least_taken(steps), epochs) << count << " " << batch << " " << epochs;
        EXPECT_LT(least_taken(steps - 1), epochs) << count << " " << batch << " " << epochs;
      }
    }
  }
  EXPECT_EQ(steps_of_epochs(1 << 20, 1 << 20, int64_t{1} << 42), int64_t{1} << 42);
}

TEST(Order, SeedsAndEpochsDiffer) {
  EXPECT_NE(epoch_indices(1, 32, 1437, 0), epoch_indices(2, 32, 1437, 0));
  EXPECT_NE(epoch_indices(1, 32, 1437, 0), epoch_indices(1, 32, 1437, 1));
  EXPECT_NE(epoch_indices(1, 32, 1437, 0), epoch_indices(uint64_t{1} << 32 | 1, 32, 1437, 0));
}

TEST(Order, LooksShuffled) {
  // Mean displacement of a random permutation is about count / 3; the identity has 0.
  const std::vector<int64_t> indices = epoch_indices(3, 32, 3000, 0);
  int64_t total = 0;
  for (size_t i = 0; i < indices.size(); ++i) total += std::abs(indices[i] - static_cast<int64_t>(i));
  EXPECT_NEAR(static_cast<double>(total) / 3000, 1000, 100);
}

TEST(Order, EpochPositionCountsWithoutGaps) {
  const EpochPosition at = epoch_position(32, 100, 3, 5);  // place 101
  EXPECT_EQ(at.epoch, 1);
  EXPECT_EQ(at.position, 1);
}

// From a separate evaluation of docs/formats/samples.md in Python.
TEST(Order, GoldenIndices) {
  constexpr uint64_t kSeed = 0x123456789abcdef;
  const auto indices = [](int64_t batch, int64_t count, int64_t step, int64_t first) {
    std::vector<int64_t> out;
    for (int64_t j = first; j < first + 6; ++j) out.push_back(sample_index(kSeed, batch, count, step, j));
    return out;
  };
  EXPECT_EQ(indices(32, 1437, 0, 0), (std::vector<int64_t>{214, 132, 237, 118, 811, 119}));
  EXPECT_EQ(indices(32, 1437, 44, 26), (std::vector<int64_t>{1140, 480, 1150, 924, 1405, 153}));
  EXPECT_EQ(indices(7, 1000000000000, 1000000, 0),
            (std::vector<int64_t>{654956309217, 10329503368, 631982393373, 709424982473, 540519528237, 271390496001}));
}

}  // namespace
}  // namespace isobit::data
