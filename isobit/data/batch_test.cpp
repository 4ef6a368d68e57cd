#include "isobit/data/batch.h"

#include <gtest/gtest.h>

#include "isobit/data/order.h"

namespace isobit::data {
namespace {

std::unique_ptr<Dataset> digits() {
  DataConfig config;
  config.dataset = "digits";
  return std::move(*open_dataset(config));
}

TEST(Batch, TrainShapesIndicesAndContent) {
  const auto dataset = digits();
  ThreadPool pool(2);
  const BatchOptions options{.seed = 5, .batch = 32, .augment = {true, true}};
  const Batch batch = train_batch(*dataset, options, 44, pool);  // runs over the end of the first epoch
  EXPECT_EQ(batch.input.dtype(), DType::kFloat32);
  EXPECT_EQ(batch.input.shape(), (Shape{32, 1, 8, 8}));
  EXPECT_EQ(batch.labels.dtype(), DType::kInt64);
  EXPECT_EQ(batch.labels.shape(), Shape{32});
  ASSERT_EQ(batch.indices.size(), 32u);
  for (int64_t j = 0; j < 32; ++j) {
    const int64_t index = sample_index(5, 32, 1437, 44, j);
    EXPECT_EQ(batch.indices[static_cast<size_t>(j)], index);
    Tensor input(DType::kFloat32, Shape{64});
    int64_t label = -1;
    dataset->fill_image(Split::kTrain, index, draw_augment(5, 44, j, options.augment, 8, 8), input.data<float>(),
                        &label);
    EXPECT_EQ(batch.labels.data<int64_t>()[j], label);
    EXPECT_EQ(std::memcmp(batch.input.data<float>() + j * 64, input.raw(), input.bytes()), 0) << "position " << j;
  }
}

TEST(Batch, SameBitsWhateverTheThreads) {
  const auto dataset = digits();
  ThreadPool one(1);
  const BatchOptions options{.seed = 6, .batch = 1500, .augment = {true, true}};
  const Batch expected = train_batch(*dataset, options, 3, one);
  for (const int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    const Batch batch = train_batch(*dataset, options, 3, pool);
    EXPECT_TRUE(identical(batch.input, expected.input)) << threads << " threads";
    EXPECT_TRUE(identical(batch.labels, expected.labels)) << threads << " threads";
    EXPECT_EQ(batch.indices, expected.indices);
  }
}

TEST(Batch, StepsAndSeedsDiffer) {
  const auto dataset = digits();
  ThreadPool pool(1);
  const Batch a = train_batch(*dataset, {.seed = 1, .batch = 16, .augment = {}}, 0, pool);
  EXPECT_FALSE(identical(a.input, train_batch(*dataset, {.seed = 1, .batch = 16, .augment = {}}, 1, pool).input));
  EXPECT_FALSE(identical(a.input, train_batch(*dataset, {.seed = 2, .batch = 16, .augment = {}}, 0, pool).input));
}

TEST(Batch, TestSamplesInOrder) {
  const auto dataset = digits();
  ThreadPool pool(2);
  const Batch all = test_batch(*dataset, 0, 360, pool);
  const Batch tail = test_batch(*dataset, 350, 10, pool);
  EXPECT_EQ(tail.input.shape(), (Shape{10, 1, 8, 8}));
  EXPECT_EQ(tail.indices.front(), 350);
  EXPECT_EQ(tail.indices.back(), 359);
  EXPECT_EQ(std::memcmp(tail.input.raw(), all.input.data<float>() + 350 * 64, tail.input.bytes()), 0);
  EXPECT_EQ(std::memcmp(tail.labels.raw(), all.labels.data<int64_t>() + 350, tail.labels.bytes()), 0);
}

}  // namespace
}  // namespace isobit::data
