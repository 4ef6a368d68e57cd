#include "isobit/data/data_shape.h"

#include "isobit/data/openers.h"

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
  const DatasetEntry* entry = find_dataset(config.dataset);
  if (entry == nullptr) return std::nullopt;
  std::optional<DataShape> shape = entry->declared(config);
  if (shape) shape->name = entry->name;
  return shape;
}

}  // namespace isobit::data
