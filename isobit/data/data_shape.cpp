#include "isobit/data/data_shape.h"

namespace isobit::data {

DataShape shape_of(const Dataset& dataset) {
  DataShape shape{dataset.name(),
                  dataset.input_dtype(),
                  dataset.input_shape().dims(),
                  dataset.classes(),
                  dataset.train_count(),
                  dataset.test_count(),
                  0};
  if (dataset.train_count() == 0) return shape;
  Bytes sample;
  dataset.sample_bytes(Split::kTrain, 0, sample);
  shape.bytes = sample.size() * static_cast<uint64_t>(shape.train_count + shape.test_count);
  return shape;
}

std::optional<DataShape> declared_shape(const DataConfig& config) {
  const auto images = [&](std::vector<int64_t> sample) {
    return DataShape{config.dataset, DType::kFloat32, std::move(sample), 10, 0, 0, 0};
  };
  if (config.dataset == "digits") return images({1, 8, 8});
  if (config.dataset == "mnist") return images({1, 28, 28});
  if (config.dataset == "cifar10") return images({3, 32, 32});
  if (config.dataset == "text" && config.context >= 1)
    return DataShape{"text", DType::kInt64, {config.context}, 256, 0, 0, 0};
  return std::nullopt;
}

}  // namespace isobit::data
