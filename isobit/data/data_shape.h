// What of a dataset a graph and its memory depend on: everything but the samples themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/data/dataset.h"

namespace isobit::data {

struct DataShape {
  std::string name = {};  // as in DataConfig::dataset
  DType input_dtype = DType::kFloat32;
  std::vector<int64_t> input_shape = {};  // of one sample
  int64_t classes = 0;
  // 0 where the data have not been opened.
  int64_t train_count = 0;
  int64_t test_count = 0;
  uint64_t bytes = 0;  // that all samples and labels take in memory
};

DataShape shape_of(const Dataset& dataset);

// What the configuration alone says, without opening a file: counts and bytes are 0. None for "npy", whose samples have
// whatever shape its files have, for "text" without a context, and for an unknown name.
std::optional<DataShape> declared_shape(const DataConfig& config);

}  // namespace isobit::data
