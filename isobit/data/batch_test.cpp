#include "isobit/data/batch.h"

#include <gtest/gtest.h>

#include "isobit/data/order.h"
#include "isobit/data/testing.h"

namespace isobit::data {
namespace {

using testing::filled;

std::unique_ptr<Dataset> digits() {
  DataConfig config;
  config.dataset = "digits";
  return std::move(*open_dataset(config));
}

TEST(Batch, TrainShapesIndicesAndContent) {
  const auto dataset = digits();
  ThreadPool pool(2);
  const BatchOptions options{.seed = 5, .batch = 32, .augment = {true, true}};
  const Batch batch = train_batch(*dataset, options, 44, pool).value();  // runs over the end of the first epoch
  ASSERT_EQ(batch.inputs.size(), 1u);
  EXPECT_EQ(batch.inputs[0].dtype(), DType::kFloat32);
  EXPECT_EQ(batch.inputs[0].shape(), (Shape{32, 1, 8, 8}));
  EXPECT_EQ(batch.target.dtype(), DType::kInt64);
  EXPECT_EQ(batch.target.shape(), Shape{32});
  ASSERT_EQ(batch.indices.size(), 32u);
  for (int64_t j = 0; j < 32; ++j) {
    const int64_t index = sample_index(5, 32, 1437, 44, j);
    EXPECT_EQ(batch.indices[static_cast<size_t>(j)], index);
    const auto [input, label] = filled(*dataset, Split::kTrain, index, draw_augment(5, 44, j, options.augment, 8, 8));
    EXPECT_EQ(batch.target.data<int64_t>()[j], label);
    EXPECT_EQ(std::memcmp(batch.inputs[0].data<float>() + j * 64, input.data(), 64 * sizeof(float)), 0)
        << "position " << j;
  }
}

TEST(Batch, SameBitsWhateverTheThreads) {
  const auto dataset = digits();
  ThreadPool one(1);
  const BatchOptions options{.seed = 6, .batch = 1500, .augment = {true, true}};
  const Batch expected = train_batch(*dataset, options, 3, one).value();
  for (const int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    const Batch batch = train_batch(*dataset, options, 3, pool).value();
    EXPECT_TRUE(identical(batch.inputs[0], expected.inputs[0])) << threads << " threads";
    EXPECT_TRUE(identical(batch.target, expected.target)) << threads << " threads";
    EXPECT_EQ(batch.indices, expected.indices);
  }
}

TEST(Batch, StepsAndSeedsDiffer) {
  const auto dataset = digits();
  ThreadPool pool(1);
  const Batch a = train_batch(*dataset, {.seed = 1, .batch = 16, .augment = {}}, 0, pool).value();
  EXPECT_FALSE(identical(a.inputs[0],
                         train_batch(*dataset, {.seed = 1, .batch = 16, .augment = {}}, 1, pool).value().inputs[0]));
  EXPECT_FALSE(identical(a.inputs[0],
                         train_batch(*dataset, {.seed = 2, .batch = 16, .augment = {}}, 0, pool).value().inputs[0]));
}

TEST(Batch, TestSamplesInOrder) {
  const auto dataset = digits();
  ThreadPool pool(2);
  const Batch all = test_batch(*dataset, 0, 360, pool).value();
  const Batch tail = test_batch(*dataset, 350, 10, pool).value();
  EXPECT_EQ(tail.inputs[0].shape(), (Shape{10, 1, 8, 8}));
  EXPECT_EQ(tail.indices.front(), 350);
  EXPECT_EQ(tail.indices.back(), 359);
  EXPECT_EQ(std::memcmp(tail.inputs[0].raw(), all.inputs[0].data<float>() + 350 * 64, tail.inputs[0].bytes()), 0);
  EXPECT_EQ(std::memcmp(tail.target.raw(), all.target.data<int64_t>() + 350, tail.target.bytes()), 0);
}

}  // namespace
}  // namespace isobit::data
