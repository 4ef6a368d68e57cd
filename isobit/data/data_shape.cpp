#include "isobit/data/data_shape.h"

#include "isobit/data/openers.h"

namespace isobit::data {

DataShape shape_of(const Dataset& dataset) {
  return {dataset.name(),        dataset.inputs(),     dataset.target(),
          dataset.train_count(), dataset.test_count(), dataset.held_bytes()};
}

DataShape shape_of_classes(std::vector<int64_t> input_shape, int64_t classes) {
  DataShape shape;
  shape.inputs = {{"input", DType::kFloat32, std::move(input_shape)}};
  shape.target = {TargetKind::kClass, DType::kInt64, {}, classes};
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
