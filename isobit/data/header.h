// The canonical description that starts every dataset commitment.
#pragma once

#include <string_view>

#include "isobit/data/dataset.h"

namespace isobit::data {

// docs/formats/samples.md. `stored`: the element type inside sample_bytes.
Bytes dataset_header(const Dataset& dataset, DType stored, std::string_view preprocessing);

}  // namespace isobit::data
