// The canonical description that starts every dataset commitment (docs/formats/samples.md).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "isobit/data/dataset.h"

namespace isobit::data {

// Version 1. `stored`: the element type inside sample_bytes.
// REQUIRES one input named "input", and a target of classes: one for a sample, or one for each token of the input.
Bytes dataset_header(const Dataset& dataset, DType stored, std::string_view preprocessing);

// How one input lies in sample_bytes, and the name of what becomes of it.
struct StoredInput {
  DType stored = DType::kFloat32;
  std::string preprocessing;
};
// Version 2, for what version 1 cannot say: any inputs and any target. REQUIRES one of `stored` for each input.
Bytes dataset_header(const Dataset& dataset, std::span<const StoredInput> stored);

}  // namespace isobit::data
