// What stored elements become before the model is fed with them: the rules of docs/formats/samples.md that a job
// chooses among.
#pragma once

#include <array>
#include <string>

#include "isobit/data/dataset.h"

namespace isobit::data {

// What a byte v becomes in float32, for all 256 values.
using ByteTable = std::array<float, 256>;

ByteTable divided_by(float divisor);                              // v / divisor
ByteTable standardized(float divisor, float mean, float stddev);  // ((v / divisor) - mean) / stddev, each step rounded

// Of elements of the type `stored`.
struct Preprocessing {
  std::string name;                // canonical: part of dataset headers
  DType fed = DType::kFloat32;     // the type the model is fed
  std::optional<ByteTable> table;  // none: the elements pass as they are
};
Preprocessing preprocessing_of(DType stored, ByteRule rule);

}  // namespace isobit::data
