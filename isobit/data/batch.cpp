#include "isobit/data/batch.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "isobit/data/order.h"

namespace isobit::data {
namespace {

// Small batches stay on one thread.
constexpr int64_t kElementsPerPart = 16384;

Tensor rows_of(DType dtype, const std::vector<int64_t>& shape, int64_t n) {
  std::vector<int64_t> dims = shape;
  dims.insert(dims.begin(), n);
  return Tensor(dtype, Shape(std::move(dims)));
}

Batch allocate(const Dataset& dataset, int64_t n) {
  Batch batch;
  for (const SampleInput& input : dataset.inputs()) batch.inputs.push_back(rows_of(input.dtype, input.shape, n));
  const Target& target = dataset.target();
  if (target.kind != TargetKind::kNone) batch.target = rows_of(target.dtype, target.shape, n);
  batch.indices.resize(static_cast<size_t>(n));
  return batch;
}

// Whether it can be written over: nobody else holds what it consists of.
bool reusable(const Dataset& dataset, const Batch& batch) {
  const auto own = [](const Tensor& tensor) { return tensor.defined() && tensor.sole_owner(); };
  return batch.inputs.size() == dataset.inputs().size() && std::ranges::all_of(batch.inputs, own) &&
         (dataset.target().kind == TargetKind::kNone || own(batch.target));
}

// What went wrong first, by the position in the batch, whichever thread came to it first.
class FirstError {
 public:
  void note(int64_t position, Error error) {
    const std::lock_guard lock(mutex_);
    if (position_ >= 0 && position_ < position) return;
    position_ = position;
    error_ = std::move(error);
  }
  Status status() {
    if (position_ < 0) return {};
    return tl::unexpected<Error>(std::move(error_));
  }

 private:
  std::mutex mutex_;
  int64_t position_ = -1;
  Error error_;
};

uint8_t* row_of(Tensor& tensor, int64_t n, int64_t j) {
  if (!tensor.defined()) return nullptr;
  return static_cast<uint8_t*>(tensor.raw()) + tensor.bytes() / static_cast<size_t>(n) * static_cast<size_t>(j);
}

// draw(j): the augmentation of position j. Every position writes its own part of the tensors and nothing else.
template <class Draw>
Status fill(const Dataset& dataset, Split split, const Draw& draw, ThreadPool& pool, Batch& batch) {
  const size_t inputs = batch.inputs.size();
  ISOBIT_CHECK(inputs >= 1 && inputs <= kMaxInputs);
  const auto n = static_cast<int64_t>(batch.indices.size());
  int64_t size = 0;
  for (const Tensor& input : batch.inputs) size += input.elements() / n;
  const int64_t grain = std::max<int64_t>(1, kElementsPerPart / std::max<int64_t>(1, size));
  FirstError failed;
  pool.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    std::array<void*, kMaxInputs> to{};
    for (int64_t j = begin; j < end; ++j) {
      for (size_t i = 0; i < inputs; ++i) to[i] = row_of(batch.inputs[i], n, j);
      Status filled = dataset.fill(split, batch.indices[static_cast<size_t>(j)], draw(j),
                                   std::span<void* const>(to.data(), inputs), row_of(batch.target, n, j));
      if (!filled) return failed.note(j, std::move(filled).error());
    }
  });
  return failed.status();
}

}  // namespace

Expected<Batch> train_batch(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool) {
  Batch batch;
  ISOBIT_RETURN_IF_ERROR(train_batch_into(dataset, options, step, pool, batch));
  return batch;
}

Status train_batch_into(const Dataset& dataset, const BatchOptions& options, int64_t step, ThreadPool& pool,
                        Batch& batch) {
  ISOBIT_CHECK(options.batch >= 1 && step >= 0);
  ISOBIT_CHECK(!options.augment.any() || dataset.takes_augmentation());
  if (static_cast<int64_t>(batch.indices.size()) != options.batch || !reusable(dataset, batch)) {
    batch = allocate(dataset, options.batch);
  }
  for (int64_t j = 0; j < options.batch; ++j) {
    batch.indices[static_cast<size_t>(j)] = sample_index(options.seed, options.batch, dataset.train_count(), step, j);
  }
  const std::vector<int64_t>& shape = dataset.inputs()[0].shape;
  const auto draw = [&](int64_t j) {
    if (!options.augment.any()) return AugmentDraw{};
    return draw_augment(options.seed, step, j, options.augment, shape[1], shape[2]);
  };
  return fill(dataset, Split::kTrain, draw, pool, batch);
}

Expected<Batch> test_batch(const Dataset& dataset, int64_t first, int64_t count, ThreadPool& pool) {
  ISOBIT_CHECK(first >= 0 && count >= 1 && count <= dataset.test_count() && first <= dataset.test_count() - count);
  Batch batch = allocate(dataset, count);
  for (int64_t j = 0; j < count; ++j) batch.indices[static_cast<size_t>(j)] = first + j;
  const auto draw = [](int64_t) { return AugmentDraw{}; };
  ISOBIT_RETURN_IF_ERROR(fill(dataset, Split::kTest, draw, pool, batch));
  return batch;
}

}  // namespace isobit::data
