#include "isobit/data/batch.h"

#include <algorithm>

#include "isobit/data/order.h"

namespace isobit::data {
namespace {

// Small batches stay on one thread.
constexpr int64_t kElementsPerPart = 16384;

Batch allocate(const Dataset& dataset, int64_t n) {
  const bool text = dataset.kind() == Kind::kTokenSequence;
  std::vector<int64_t> dims = dataset.input_shape().dims();
  dims.insert(dims.begin(), n);
  Batch batch;
  batch.input = Tensor(dataset.input_dtype(), Shape(dims));
  batch.labels = Tensor(DType::kInt64, text ? Shape(dims) : Shape{n});
  batch.indices.resize(static_cast<size_t>(n));
  return batch;
}

bool reusable(const Tensor& tensor) { return tensor.defined() && tensor.sole_owner(); }

// draw(j): the augmentation of position j. Every position writes its own part of the tensors and nothing else.
template <class Draw>
void fill(const Dataset& dataset, Split split, const Draw& draw, ThreadPool& pool, Batch& batch) {
  const int64_t size = dataset.input_shape().elements();
  const bool text = dataset.kind() == Kind::kTokenSequence;
  const auto n = static_cast<int64_t>(batch.indices.size());
  float* pixels = text ? nullptr : batch.input.data<float>();
  int64_t* tokens = text ? batch.input.data<int64_t>() : nullptr;
  auto* labels = batch.labels.data<int64_t>();
  const int64_t grain = std::max<int64_t>(1, kElementsPerPart / std::max<int64_t>(1, size));
  pool.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const int64_t index = batch.indices[static_cast<size_t>(j)];
      if (text) {
        dataset.fill_tokens(split, index, tokens + j * size, labels + j * size);
      } else {
        dataset.fill_image(split, index, draw(j), pixels + j * size, labels + j);
      }
    }
  });
}

}  // namespace

Batch train_batch(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool) {
  Batch batch;
  train_batch_into(dataset, options, step, pool, batch);
  return batch;
}

void train_batch_into(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool,
                      Batch& batch) {
  ISOBIT_CHECK(options.batch >= 1 && step >= 0);
  const Shape& shape = dataset.input_shape();
  ISOBIT_CHECK(!options.augment.any() || (dataset.kind() == Kind::kImageClassification && shape.rank() == 3));
  if (static_cast<int64_t>(batch.indices.size()) != options.batch || !reusable(batch.input) ||
      !reusable(batch.labels)) {
    batch = allocate(dataset, options.batch);
  }
  for (int64_t j = 0; j < options.batch; ++j) {
    batch.indices[static_cast<size_t>(j)] = sample_index(options.seed, options.batch, dataset.train_count(), step, j);
  }
  const auto draw = [&](int64_t j) {
    if (!options.augment.any()) return AugmentDraw{};
    return draw_augment(options.seed, step, j, options.augment, shape[1], shape[2]);
  };
  fill(dataset, Split::kTrain, draw, pool, batch);
}

Batch test_batch(const Dataset& dataset, int64_t first, int64_t count, ThreadPool& pool) {
  ISOBIT_CHECK(first >= 0 && count >= 1 && count <= dataset.test_count() && first <= dataset.test_count() - count);
  Batch batch = allocate(dataset, count);
  for (int64_t j = 0; j < count; ++j) batch.indices[static_cast<size_t>(j)] = first + j;
  fill(
      dataset, Split::kTest, [](int64_t) { return AugmentDraw{}; }, pool, batch);
  return batch;
}

}  // namespace isobit::data
