// What stored elements become before the model is fed with them: the rules of docs/formats/samples.md, for whoever has
// the data and for whoever was shown one sample.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "isobit/data/dataset.h"

namespace isobit::data {

// What a byte v becomes in float32, for all 256 values.
using ByteTable = std::array<float, 256>;

struct Preprocessing {
  std::string name;                // canonical: part of dataset headers
  DType stored = DType::kFloat32;  // the type of the elements in a sample
  DType fed = DType::kFloat32;     // the type the model is fed
  // Of bytes that become float32: one for all elements, or one for each channel. None: values stay as they are.
  std::vector<ByteTable> tables = {};

  // Whether the bits stay, too.
  bool passes() const { return tables.empty() && stored == fed; }
  // Whether it applies to elements of that type and to samples of that shape.
  bool fits(DType type, const std::vector<int64_t>& shape) const;
  // Writes as many elements of type `fed` as there are in `elements`, which need not be aligned. REQUIRES whole
  // elements, an aligned `to`, and of a rule for each channel equally many of each.
  void apply(ByteView elements, void* to) const;
};

// Of elements of the type `stored`, under data.bytes.
Preprocessing preprocessing_of(DType stored, ByteRule rule);
// None where no rule of that name makes `fed` of `stored`.
std::optional<Preprocessing> preprocessing_named(const std::string& name, DType stored, DType fed);

}  // namespace isobit::data
