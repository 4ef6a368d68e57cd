// The canonical description that starts every dataset commitment.
#pragma once

#include <string_view>

#include "isobit/data/dataset.h"

namespace isobit::data {

// docs/formats/samples.md, version 1. `stored`: the element type inside sample_bytes.
// REQUIRES one input named "input", and a target of classes: one for a sample, or one for each token of the input.
Bytes dataset_header(const Dataset& dataset, DType stored, std::string_view preprocessing);

}  // namespace isobit::data
