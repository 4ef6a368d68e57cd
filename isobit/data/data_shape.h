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
  std::vector<SampleInput> inputs = {};
  Target target = {};
  // 0 where the data have not been opened.
  int64_t train_count = 0;
  int64_t test_count = 0;
  uint64_t bytes = 0;  // that samples and targets take in memory; what is left on the disk does not count
};

DataShape shape_of(const Dataset& dataset);

// What the configuration alone says, without opening a file: counts and bytes are 0. None for "npy" and
// "images", whose samples have whatever shape the files have, for "text" without a context or with a tokenizer, whose
// vocabulary a file has, and for an unknown name.
std::optional<DataShape> declared_shape(const DataConfig& config);

// The shape of classified float32 samples, of one input.
DataShape shape_of_classes(std::vector<int64_t> input_shape, int64_t classes);

}  // namespace isobit::data
